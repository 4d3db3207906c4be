{ Frames of a board: what it builds, and checksums. }
unit Packets;
{$mode objfpc}{$H+}{$R-}{$Q-}

interface

const
  MOST = 1600;

type
  TBuffer = array[0..MOST - 1] of byte;

function Word16(const data: TBuffer; at: longint): longint; inline;
function Word32(const data: TBuffer; at: longint): dword; inline;
procedure Put16(var data: TBuffer; at, value: longint); inline;
procedure Put32(var data: TBuffer; at: longint; value: dword); inline;
function Sum(const data: TBuffer; at, octets: longint; start: dword): dword;
function Folded(value: dword): longint;
function Address(const text: string): dword;

implementation

uses
  SysUtils;

function Word16(const data: TBuffer; at: longint): longint; inline;
begin
  Word16 := (longint(data[at]) shl 8) or data[at + 1];
end;

function Word32(const data: TBuffer; at: longint): dword; inline;
begin
  Word32 := (dword(Word16(data, at)) shl 16) or dword(Word16(data, at + 2));
end;

procedure Put16(var data: TBuffer; at, value: longint); inline;
begin
  data[at] := (value shr 8) and 255;
  data[at + 1] := value and 255;
end;

procedure Put32(var data: TBuffer; at: longint; value: dword); inline;
begin
  Put16(data, at, value shr 16);
  Put16(data, at + 2, value and $FFFF);
end;

function Sum(const data: TBuffer; at, octets: longint; start: dword): dword;
begin
  Sum := start;
  while octets > 1 do
  begin
    Sum := Sum + dword(Word16(data, at));
    inc(at, 2);
    dec(octets, 2);
  end;
  if octets = 1 then Sum := Sum + dword(data[at]) shl 8;
end;

function Folded(value: dword): longint;
begin
  while value > $FFFF do value := (value and $FFFF) + (value shr 16);
  Folded := (not value) and $FFFF;
end;

function Address(const text: string): dword;
var
  parts: TStringArray;
begin
  parts := text.Split('.');
  Address := (dword(StrToInt(parts[0])) shl 24) or (dword(StrToInt(parts[1])) shl 16) or (dword(StrToInt(parts[2])) shl 8) or
    dword(StrToInt(parts[3]));
end;

end.
