{ The path between two sites: two TAP interfaces, one Way each way, the clock, the capture in the middle. It prints its counters as JSON
  when it is terminated. Settings are words `name=value`; those of the way from A to B begin with `f.`, the others with `b.`. }
program Path;
{$mode objfpc}{$H+}{$R-}{$Q-}

uses
  BaseUnix, Linux, SysCall, SysUtils, Frames, Lines, Ways, Host;

const
  CHUNK = 8 * 1024 * 1024;

type
  TChunk = array[0..CHUNK - 1] of byte;

var
  ends: boolean = false;
  taps: array[0..1] of longint;
  way: array[0..1] of TWay;
  chunks: array of ^TChunk;
  used: longint = 0;
  middle: longint = 0;
  kept: longint = 192;
  late: array[0..200000] of longint;
  events: int64 = 0;
  latest: int64 = 0;

procedure Terminated(number: longint); cdecl;
begin
  ends := true;
end;

procedure Put(const source; octets: longint);
var
  from: ^byte;
  part: longint;
begin
  from := @source;
  while octets > 0 do
  begin
    if (length(chunks) = 0) or (used = CHUNK) then
    begin
      SetLength(chunks, length(chunks) + 1);
      new(chunks[high(chunks)]);
      used := 0;
    end;
    part := CHUNK - used;
    if part > octets then part := octets;
    Move(from^, chunks[high(chunks)]^[used], part);
    inc(used, part);
    inc(from, part);
    dec(octets, part);
  end;
end;

{ Notes a frame that passes the mirror port, with the time of the system's clock. }
procedure Note(f: PFrame);
var
  head: array[0..3] of dword;
  now: timespec;
begin
  clock_gettime(CLOCK_REALTIME, @now);
  head[0] := now.tv_sec;
  head[1] := now.tv_nsec div 1000;
  head[2] := f^.len;
  if f^.len > kept then head[2] := kept;
  head[3] := f^.len;
  Put(head, 16);
  Put(f^.data, head[2]);
end;

procedure WriteCapture(const name: string);
var
  file_: longint;
  head: array[0..5] of dword = ($A1B2C3D4, $00040002, 0, 0, 1600, 1);
  i, octets: longint;
begin
  file_ := FpOpen(name, O_WRONLY or O_CREAT or O_TRUNC, &644);
  FpWrite(file_, head, 24);
  for i := 0 to high(chunks) do
  begin
    octets := CHUNK;
    if i = high(chunks) then octets := used;
    FpWrite(file_, chunks[i]^, octets);
  end;
  FpClose(file_);
end;

procedure Deliver(index: longint; f: PFrame);
begin
  if middle = 1 - index then Note(f);
  if FpWrite(taps[1 - index], f^.data, f^.len) < 0 then
    if way[index].began > 0 then inc(way[index].unwritten);
end;

procedure Lateness(by: int64);
begin
  if (way[0].began = 0) and (way[1].began = 0) then exit;
  if by < 0 then by := 0;
  if by > latest then latest := by;
  by := by div 1000;
  if by > high(late) then by := high(late);
  inc(late[by]);
  inc(events);
end;

procedure ReadFrames(index: longint);
var
  f: PFrame;
  octets, burst: longint;
begin
  for burst := 1 to 64 do
  begin
    f := NewFrame;
    octets := FpRead(taps[index], f^.data, MOST_OCTETS);
    if octets <= 0 then
    begin
      FreeFrame(f);
      exit;
    end;
    f^.len := octets;
    f^.arrived := Clock;
    if middle = index then Note(f);
    way[index].Arrives(f);
  end;
end;

{ ppoll(2), which takes nanoseconds. }
function WaitFor(var polls: array of tpollfd; var wait: timespec): longint;
begin
  WaitFor := Do_SysCall(syscall_nr_ppoll, TSysParam(@polls[0]), 2, TSysParam(@wait), 0, 0);
end;

procedure Run;
var
  polls: array[0..1] of tpollfd;
  next: int64;
  wait: timespec;
  i: longint;
  f: PFrame;
begin
  for i := 0 to 1 do
  begin
    polls[i].fd := taps[i];
    polls[i].events := POLLIN;
  end;
  while not ends do
  begin
    next := way[0].Next;
    if way[1].Next < next then next := way[1].Next;
    next := next - Clock;
    if next > 50000000 then next := 50000000;
    if next < 0 then next := 0;
    wait.tv_sec := 0;
    wait.tv_nsec := next;
    if WaitFor(polls, wait) > 0 then
      for i := 0 to 1 do
        if polls[i].revents and POLLIN <> 0 then ReadFrames(i);
    for i := 0 to 1 do
    begin
      way[i].Advance(Clock);
      repeat
        f := way[i].Ready(Clock);
        if f = nil then break;
        Lateness(Clock - f^.due);
        Deliver(i, f);
        FreeFrame(f);
      until false;
    end;
  end;
end;

procedure Report;
var
  i, at, sum: int64;
begin
  sum := 0;
  at := 0;
  for i := 0 to high(late) do
  begin
    sum := sum + late[i];
    at := i;
    if sum * 100 >= events * 99 then break;
  end;
  writeln('{"forward": ', way[0].Counters, ', "back": ', way[1].Counters, ', "path_late_p99_ms": ', at / 1000:0:3,
    ', "path_late_max_ms": ', latest / 1e6:0:3, '}');
end;

var
  i, at: longint;
  word_, name, value, capture: string;
begin
  FpSignal(SIGTERM, @Terminated);
  FpSignal(SIGINT, @Terminated);
  way[0] := TWay.Create(11);
  way[1] := TWay.Create(23);
  way[0].other := way[1];
  way[1].other := way[0];
  for i := 1 to ParamCount do
  begin
    word_ := ParamStr(i);
    at := pos('=', word_);
    name := copy(word_, 1, at - 1);
    value := copy(word_, at + 1, 255);
    if name = 'a' then taps[0] := OpenTap(value)
    else if name = 'b' then taps[1] := OpenTap(value)
    else if name = 'middle' then middle := ord(value = 'B')
    else if name = 'out' then capture := value
    else if name = 'keep' then kept := StrToInt(value)
    else if name = 'seed' then RandSeed := StrToInt(value)
    else if copy(name, 1, 2) = 'f.' then way[0].Adopt(copy(name, 3, 99), value)
    else if copy(name, 1, 2) = 'b.' then way[1].Adopt(copy(name, 3, 99), value)
    else
    begin
      writeln(stderr, 'unknown: ', word_);
      halt(1);
    end;
  end;
  writeln('ready');
  Flush(System.Output);
  Run;
  WriteCapture(capture);
  Report;
end.
