{ The adapter of a board: a TAP interface, a processor that is busy for a time, answers to ARP and ping. }
unit Adapter;
{$mode objfpc}{$H+}{$R-}{$Q-}

interface

uses
  Classes, Packets;

const
  MS = int64(1000000);

var
  settings: TStringList;
  tap: longint;
  own: dword;
  busyUntil: int64 = 0;
  mac: array[0..5] of byte = (2, $B0, $A2, 0, 0, 1);
  peerMac: array[0..5] of byte;
  hasMac: boolean = false;

function Setting(const name: string; fallback: int64): int64;
procedure Work(ns: int64);
procedure SleepUntil(time: int64);
procedure Emit(var data: TBuffer; octets: longint);
procedure AskArp(target: dword);
function AnswersItself(var data: TBuffer; octets: longint): boolean;

implementation

uses
  BaseUnix, UnixType, Linux, SysUtils, Host;

function Setting(const name: string; fallback: int64): int64;
begin
  Setting := StrToInt64Def(settings.Values[name], fallback);
end;

procedure Work(ns: int64);
begin
  if busyUntil < Clock then busyUntil := Clock;
  busyUntil := busyUntil + ns;
end;

procedure SleepUntil(time: int64);
var
  wait: timespec;
begin
  time := time - Clock;
  if time <= 0 then exit;
  wait.tv_sec := time div 1000000000;
  wait.tv_nsec := time mod 1000000000;
  FpNanoSleep(@wait, nil);
end;

procedure Emit(var data: TBuffer; octets: longint);
begin
  if octets < 60 then octets := 60;
  FpWrite(tap, data, octets);
end;

procedure AskArp(target: dword);
var
  data: TBuffer;
begin
  FillChar(data, 60, 0);
  FillChar(data, 6, $FF);
  Move(mac, data[6], 6);
  Put16(data, 12, $0806);
  Put16(data, 14, 1);
  Put16(data, 16, $0800);
  data[18] := 6;
  data[19] := 4;
  Put16(data, 20, 1);
  Move(mac, data[22], 6);
  Put32(data, 28, own);
  Put32(data, 38, target);
  Emit(data, 42);
end;

{ ARP and ping, and what is for others: whether the frame is done with. }
function AnswersItself(var data: TBuffer; octets: longint): boolean;
begin
  AnswersItself := true;
  if Word16(data, 12) = $0806 then
  begin
    if (Word16(data, 20) = 2) and not hasMac then
    begin
      Move(data[22], peerMac, 6);
      hasMac := true;
    end;
    if (Word16(data, 20) <> 1) or (Word32(data, 38) <> own) then exit;
    Move(data[6], data[0], 6);
    Move(mac, data[6], 6);
    Put16(data, 20, 2);
    Move(data[22], data[32], 10);
    Move(mac, data[22], 6);
    Put32(data, 28, own);
    Emit(data, 42);
  end
  else if (Word16(data, 12) <> $0800) or (Word32(data, 30) <> own) then exit
  else if (data[23] = 1) and (data[34] = 8) then
  begin
    Put32(data, 30, Word32(data, 26));
    Put32(data, 26, own);
    Move(data[6], data[0], 6);
    Move(mac, data[6], 6);
    data[34] := 0;
    Put16(data, 36, 0);
    Put16(data, 36, Folded(Sum(data, 34, Word16(data, 16) - 20, 0)));
    Emit(data, octets);
  end
  else AnswersItself := false;
end;

end.
