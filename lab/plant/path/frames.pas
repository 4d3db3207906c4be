{ Frames: what the path reads of them and rewrites in them. }
unit Frames;
{$mode objfpc}{$R-}{$Q-}

interface

const
  MOST_OCTETS = 1600;
  POOL_SIZE = 24576;

type
  PFrame = ^TFrame;
  TFrame = record
    len: longint;
    arrived, due: int64;
    lost: boolean;
    data: array[0..MOST_OCTETS - 1] of byte;
  end;

function Word16(f: PFrame; at: longint): longint; inline;
function IsTcp(f: PFrame): boolean;
function TcpAt(f: PFrame): longint; inline;
function TcpFlags(f: PFrame): byte; inline;
function Payload(f: PFrame): longint;
function IsPureAck(f: PFrame): boolean;
procedure BlankOption(f: PFrame; kind: byte);
procedure ClampMss(f: PFrame; mss: longint);
procedure CapWindow(f: PFrame; octets, shift: longint);
function ScaleOf(f: PFrame): longint;

implementation

function Word16(f: PFrame; at: longint): longint; inline;
begin
  Word16 := (longint(f^.data[at]) shl 8) or f^.data[at + 1];
end;

function IsTcp(f: PFrame): boolean;
begin
  IsTcp := (f^.len >= 54) and (Word16(f, 12) = $0800) and (f^.data[23] = 6) and (Word16(f, 20) and $1FFF = 0);
end;

function TcpAt(f: PFrame): longint; inline;
begin
  TcpAt := 14 + (f^.data[14] and 15) * 4;
end;

function TcpFlags(f: PFrame): byte; inline;
begin
  TcpFlags := f^.data[TcpAt(f) + 13];
end;

{ Octets of payload of TCP or UDP over IPv4; 0 of anything else. }
function Payload(f: PFrame): longint;
var
  headers: longint;
begin
  Payload := 0;
  if (f^.len < 42) or (Word16(f, 12) <> $0800) then exit;
  headers := (f^.data[14] and 15) * 4;
  if f^.data[23] = 17 then Payload := Word16(f, 16) - headers - 8
  else if f^.data[23] = 6 then Payload := Word16(f, 16) - headers - (f^.data[TcpAt(f) + 12] shr 4) * 4;
end;

function IsPureAck(f: PFrame): boolean;
begin
  IsPureAck := IsTcp(f) and (TcpFlags(f) and $17 = $10) and (Payload(f) = 0);
end;

{ RFC 1624: the checksum of TCP after a word changed. }
procedure Adjust(f: PFrame; before, after: longint);
var
  sum, at: longint;
begin
  at := TcpAt(f) + 16;
  sum := ((not Word16(f, at)) and $FFFF) + ((not before) and $FFFF) + after;
  while sum > $FFFF do sum := (sum and $FFFF) + (sum shr 16);
  sum := (not sum) and $FFFF;
  f^.data[at] := sum shr 8;
  f^.data[at + 1] := sum and 255;
end;

procedure SetByte(f: PFrame; at: longint; value: byte);
var
  even, before: longint;
begin
  even := at - ((at - TcpAt(f)) and 1);
  before := Word16(f, even);
  f^.data[at] := value;
  Adjust(f, before, Word16(f, even));
end;

{ Where an option of TCP begins, or 0. }
function OptionAt(f: PFrame; kind: byte): longint;
var
  at, last: longint;
begin
  OptionAt := 0;
  at := TcpAt(f) + 20;
  last := TcpAt(f) + (f^.data[TcpAt(f) + 12] shr 4) * 4;
  while at < last do
  begin
    if f^.data[at] = kind then exit(at);
    if f^.data[at] = 0 then exit;
    if f^.data[at] = 1 then inc(at)
    else if f^.data[at + 1] < 2 then exit
    else at := at + f^.data[at + 1];
  end;
end;

procedure BlankOption(f: PFrame; kind: byte);
var
  at, octets, i: longint;
begin
  at := OptionAt(f, kind);
  if at = 0 then exit;
  octets := f^.data[at + 1];
  for i := at to at + octets - 1 do SetByte(f, i, 1);
end;

procedure ClampMss(f: PFrame; mss: longint);
var
  at: longint;
begin
  at := OptionAt(f, 2);
  if (at = 0) or (Word16(f, at + 2) <= mss) then exit;
  SetByte(f, at + 2, mss shr 8);
  SetByte(f, at + 3, mss and 255);
end;

function ScaleOf(f: PFrame): longint;
var
  at: longint;
begin
  at := OptionAt(f, 3);
  if at = 0 then ScaleOf := 0 else ScaleOf := f^.data[at + 2];
end;

procedure CapWindow(f: PFrame; octets, shift: longint);
var
  at, window: longint;
begin
  at := TcpAt(f) + 14;
  window := octets shr shift;
  if Word16(f, at) <= window then exit;
  SetByte(f, at, window shr 8);
  SetByte(f, at + 1, window and 255);
end;

end.
