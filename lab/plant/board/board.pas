{ A board with a small TCP of its own on a TAP interface: one connection at a time, a fixed window, segments in order only, so many in
  flight, a time-out instead of selective acknowledgments, no congestion control. Its processor takes a time for each frame, may look
  for frames at intervals, and stops while flash is erased or read. Settings are words `name=value`. It prints JSON. }
program Board;
{$mode objfpc}{$H+}{$R-}{$Q-}

uses
  BaseUnix, UnixType, SysCall, SysUtils, Classes, Packets, Adapter, Host;

type
  TState = (Closed, Listens, Asked, Answered, Open, Finishing, Done);

var
  ends: boolean = false;
  state: TState = Closed;
  gateway, mask, peer: dword;
  ownPort, peerPort, ident, peerMss, peerWindow: longint;
  una, nxt, iss, rcv: dword;
  offered, received, requested, asked_, unacked: int64;
  ackAt, sendAgainAt, drainAt, replyAt, started, first: int64;
  rto: int64;
  repeats, dups, stops: longint;
  unread, sinceErase, sinceRead, lastWindow: longint;
  finSent: boolean;
  mode: string;

{$I settings.inc}

procedure Terminated(number: longint); cdecl;
begin
  ends := true;
end;

function WindowNow: longint;
begin
  WindowNow := window - unread;
  if WindowNow < 0 then WindowNow := 0;
end;

{ Builds and sends a segment; `at` is the sequence number of its first octet. }
procedure Send(at: dword; octets: longint; flags: byte);
var
  data: TBuffer;
  header, i: longint;
begin
  if frameUs > 0 then
  begin
    Work(int64(frameUs) * 1000);
    SleepUntil(busyUntil);
  end;
  FillChar(data, 66, 0);
  Move(peerMac, data[0], 6);
  Move(mac, data[6], 6);
  Put16(data, 12, $0800);
  data[14] := $45;
  header := 20;
  if flags and 2 <> 0 then header := 24;
  Put16(data, 16, 20 + header + octets);
  inc(ident);
  Put16(data, 18, ident and $FFFF);
  data[22] := ttl;
  data[23] := 6;
  Put32(data, 26, own);
  Put32(data, 30, peer);
  Put16(data, 24, Folded(Sum(data, 14, 20, 0)));
  Put16(data, 34, ownPort);
  Put16(data, 36, peerPort);
  Put32(data, 38, at);
  if flags and $10 <> 0 then Put32(data, 42, rcv);
  data[46] := (header div 4) shl 4;
  data[47] := flags;
  lastWindow := WindowNow;
  Put16(data, 48, lastWindow);
  if header = 24 then
  begin
    data[54] := 2;
    data[55] := 4;
    Put16(data, 56, mss);
  end;
  for i := 0 to octets - 1 do data[34 + header + i] := (at + dword(i)) mod 251;
  Put16(data, 50, Folded(Sum(data, 34, header + octets, Sum(data, 26, 8, 6 + dword(header + octets)))));
  Emit(data, 34 + header + octets);
  if flags and $10 <> 0 then
  begin
    ackAt := 0;
    unacked := 0;
  end;
end;

procedure Restart;
begin
  state := Listens;
  finSent := false;
  offered := 0;
  requested := 0;
  unread := 0;
  sendAgainAt := 0;
  ackAt := 0;
  rto := rtoMs * MS;
end;

procedure Opens;
begin
  state := Open;
  started := Clock;
  first := started;
  if (mode = 'send') or ((mode = 'write') and (Setting('await', 0) = 0)) then offered := total
  else if mode = 'get' then offered := size;
end;

{ Sends what may be sent. }
procedure Push;
var
  octets, flying, room: longint;
begin
  if not (state in [Open]) then exit;
  while true do
  begin
    flying := longint(nxt - una);
    octets := offered - int64(dword(nxt - iss - 1));
    if octets > mss then octets := mss;
    if octets > peerMss then octets := peerMss;
    if (size > 0) and ((mode = 'send') or (mode = 'write')) and (octets > size) then octets := size;
    room := peerWindow - flying;
    if (octets <= 0) or (octets > room) then break;
    if flying > (inFlight - 1) * mss then break;
    if (size > 0) and ((mode = 'send') or (mode = 'write')) and (flying div size >= inFlight) then break;
    if readOctets > 0 then
    begin
      sinceRead := sinceRead + octets;
      if sinceRead >= readOctets then
      begin
        sinceRead := 0;
        inc(stops);
        Work(readMs * MS);
        SleepUntil(busyUntil);
      end;
    end;
    Send(nxt, octets, pushFlags);
    nxt := nxt + dword(octets);
    if sendAgainAt = 0 then sendAgainAt := Clock + rto;
  end;
  if (offered > 0) and ((mode = 'send') or (mode = 'write')) and (int64(dword(una - iss - 1)) >= total) and not finSent then
  begin
    Send(nxt, 0, $11);
    nxt := nxt + 1;
    finSent := true;
    writeln('{"sent": ', total, ', "seconds": ', (Clock - first) / 1e9:0:4, ', "repeats": ', repeats, ', "stops": ', stops, '}');
    Flush(System.Output);
  end;
end;

{ An application takes what arrived. }
procedure Consume(octets: longint);
begin
  received := received + octets;
  requested := requested + octets;
  if (mode = 'write') and (Setting('await', 0) = 1) and (offered = 0) then offered := total;
  if mode = 'answer' then
    while requested >= size do
    begin
      requested := requested - size;
      replyAt := Clock + thinkMs * MS;
      if thinkMs = 0 then
      begin
        offered := offered + reply;
        replyAt := 0;
      end;
    end;
  if (mode = 'get') and (requested >= reply) then
  begin
    requested := requested - reply;
    inc(asked_);
    if asked_ < count then replyAt := Clock + pauseMs * MS
    else if asked_ = count then
    begin
      writeln('{"asked": ', asked_, ', "seconds": ', (Clock - first) / 1e9:0:4, '}');
      Flush(System.Output);
    end;
  end;
end;

procedure Acknowledge;
begin
  Send(nxt, 0, $10);
end;

procedure Segment(const data: TBuffer; octets: longint);
var
  flags: byte;
  at, ack: dword;
  header, payload: longint;
begin
  if (state = Listens) or (Word32(data, 26) <> peer) or (Word16(data, 34) <> peerPort) then
  begin
    if (data[47] and $12 <> 2) or not (state in [Listens, Done]) then exit;
    Restart;
    peer := Word32(data, 26);
    peerPort := Word16(data, 34);
    Move(data[6], peerMac, 6);
    rcv := Word32(data, 38) + 1;
    iss := dword(Random(high(longint)));
    una := iss + 1;
    nxt := iss + 1;
    peerMss := 536;
    if (data[46] shr 4 > 5) and (data[54] = 2) then peerMss := Word16(data, 56);
    Send(iss, 0, $12);
    state := Answered;
    exit;
  end;
  flags := data[47];
  at := Word32(data, 38);
  ack := Word32(data, 42);
  header := (data[46] shr 4) * 4;
  payload := Word16(data, 16) - 20 - header;
  peerWindow := Word16(data, 48);
  if flags and 4 <> 0 then
  begin
    if mode = 'get' then state := Done else Restart;
    exit;
  end;
  if (state = Answered) and (flags and 2 <> 0) then
  begin
    Send(iss, 0, $12);
    exit;
  end;
  if state = Asked then
  begin
    if flags and $12 <> $12 then exit;
    rcv := at + 1;
    una := ack;
    nxt := ack;
    peerMss := 536;
    if (header > 20) and (data[54] = 2) then peerMss := Word16(data, 56);
    sendAgainAt := 0;
    Opens;
    Acknowledge;
    Push;
    exit;
  end;
  if state = Answered then Opens;
  if longint(ack - una) > 0 then
  begin
    una := ack;
    if longint(nxt - una) < 0 then nxt := una;
    dups := 0;
    rto := rtoMs * MS;
    sendAgainAt := 0;
    if nxt <> una then sendAgainAt := Clock + rto;
  end
  else if (payload = 0) and (ack = una) and (nxt <> una) then
  begin
    inc(dups);
    if (dups = 3) and (fast = 1) then
    begin
      nxt := una;
      inc(repeats);
    end;
  end;
  if payload > 0 then
  begin
    if (at = rcv) and (payload <= WindowNow) then
    begin
      rcv := rcv + dword(payload);
      if eraseOctets > 0 then
      begin
        sinceErase := sinceErase + payload;
        if sinceErase >= eraseOctets then
        begin
          sinceErase := sinceErase - eraseOctets;
          inc(stops);
          Work(eraseMs * MS);
          SleepUntil(busyUntil);
        end;
      end;
      if drain > 0 then unread := unread + payload;
      Consume(payload);
      inc(unacked);
      if unacked >= ackEvery then Acknowledge
      else if ackAt = 0 then ackAt := Clock + ackMs * MS;
    end
    else Acknowledge;
  end;
  if (flags and 1 <> 0) and (at + dword(payload) = rcv) then
  begin
    rcv := rcv + 1;
    Acknowledge;
    if not finSent then Send(nxt, 0, $11);
    writeln('{"read": ', received, ', "seconds": ', (Clock - first) / 1e9:0:4, ', "stops": ', stops, '}');
    Flush(System.Output);
    received := 0;
    state := Done;
  end;
  Push;
end;

procedure Handle(var data: TBuffer; octets: longint);
begin
  if frameUs > 0 then Work(int64(frameUs) * 1000);
  if not AnswersItself(data, octets) and (data[23] = 6) and (Word16(data, 36) = ownPort) then Segment(data, octets);
end;

procedure Timers(now: int64);
var
  step: longint;
begin
  if (ackAt > 0) and (now >= ackAt) then Acknowledge;
  if (replyAt > 0) and (now >= replyAt) then
  begin
    replyAt := 0;
    if mode = 'answer' then offered := offered + reply else offered := offered + size;
    Push;
  end;
  if (drain > 0) and (unread > 0) and (now >= drainAt) then
  begin
    step := updates;
    if step > unread then step := unread;
    unread := unread - step;
    drainAt := now + int64(step) * 8 * 1000000000 div drain;
    if (state = Open) and (WindowNow - lastWindow >= updates) then Acknowledge;
  end;
  if (sendAgainAt > 0) and (now >= sendAgainAt) then
  begin
    inc(repeats);
    rto := rto * 2;
    if rto > 8000 * MS then rto := 8000 * MS;
    sendAgainAt := now + rto;
    if state = Asked then Send(iss, 0, 2)
    else if finSent then Send(nxt - 1, 0, $11)
    else
    begin
      nxt := una;
      Push;
    end;
  end;
end;

procedure Connects;
var
  until_: int64;
  data: TBuffer;
  octets: longint;
  target: dword;
begin
  peer := Address(settings.Values['peer']);
  target := peer;
  if (peer and mask) <> (own and mask) then target := gateway;
  until_ := 0;
  while not hasMac and not ends do
  begin
    if Clock > until_ then
    begin
      AskArp(target);
      until_ := Clock + 500 * MS;
    end;
    octets := FpRead(tap, data, MOST);
    if octets > 0 then Handle(data, octets) else SleepUntil(Clock + MS);
  end;
  ownPort := 1024 + Random(3000);
  peerPort := Setting('port', 5001);
  iss := dword(Random(high(longint)));
  una := iss + 1;
  nxt := iss + 1;
  rto := rtoMs * MS;
  state := Asked;
  Send(iss, 0, 2);
  sendAgainAt := Clock + rto;
end;

procedure Run;
var
  polled: tpollfd;
  wait: timespec;
  next, now: int64;
  data: TBuffer;
  octets: longint;
begin
  while not ends do
  begin
    SleepUntil(busyUntil);
    now := Clock;
    if pollUs > 0 then
    begin
      SleepUntil((now div (int64(pollUs) * 1000) + 1) * int64(pollUs) * 1000);
      repeat
        octets := FpRead(tap, data, MOST);
        if octets > 0 then Handle(data, octets);
      until octets <= 0;
      Timers(Clock);
      continue;
    end;
    octets := FpRead(tap, data, MOST);
    if octets > 0 then
    begin
      Handle(data, octets);
      SleepUntil(busyUntil);
      Timers(Clock);
      continue;
    end;
    Timers(now);
    next := now + 50 * MS;
    if (ackAt > 0) and (ackAt < next) then next := ackAt;
    if (replyAt > 0) and (replyAt < next) then next := replyAt;
    if (sendAgainAt > 0) and (sendAgainAt < next) then next := sendAgainAt;
    if (drain > 0) and (unread > 0) and (drainAt < next) then next := drainAt;
    polled.fd := tap;
    polled.events := POLLIN;
    wait.tv_sec := 0;
    wait.tv_nsec := next - Clock;
    if wait.tv_nsec > 0 then Do_SysCall(syscall_nr_ppoll, TSysParam(@polled), 1, TSysParam(@wait), 0, 0);
  end;
end;

var
  i: longint;
begin
  FpSignal(SIGTERM, @Terminated);
  settings := TStringList.Create;
  for i := 1 to ParamCount do settings.Add(ParamStr(i));
  RandSeed := Setting('seed', 1);
  ident := Random(60000);
  own := Address(settings.Values['ip']);
  gateway := Address(settings.Values['gateway']);
  mask := $FFFFFF00;
  mode := settings.Values['mode'];
  ownPort := Setting('port', 5001);
  ReadSettings;
  tap := OpenTap(settings.Values['tap']);
  writeln('ready');
  Flush(System.Output);
  while (settings.Values['begins'] <> '') and not FileExists(settings.Values['begins']) and not ends do SleepUntil(Clock + 5 * MS);
  if (mode = 'send') or (mode = 'get') then Connects else Restart;
  Run;
end.
