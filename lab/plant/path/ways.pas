{ One direction of the path: filters, a queue before a line, the way, the receiver's ring. All times are nanoseconds. }
unit Ways;
{$mode objfpc}{$H+}{$R-}{$Q-}

interface

uses
  Frames, Lines;

type
  TWay = class
    other: TWay;
    unwritten, began: int64;
    constructor Create(salt: longint);
    procedure Adopt(const name, value: string);
    procedure Arrives(f: PFrame);
    procedure Advance(now: int64);
    function Ready(now: int64): PFrame;
    function Next: int64;
    function Counters: string;
  private
    queue, line, ring: TLine;
    late: array[0..255] of PFrame;
    lateCount: longint;
    queued, freeAt, ringFreeAt, awakeUntil, wokenAt, erased, stalledUntil, nextStorm: int64;
    shift: longint;
    bad: boolean;
    tokens, filledAt, dropNext, aboveSince: int64;
    dropping: boolean;
    drops: longint;
    { settings }
    rate, delay, queueOctets, queueFrames, jitter, frameCost, slot: int64;
    rateLow, ratePeriod, rateShare: int64;
    loss, badStart, badEnd, badLoss, followLoss, followGap: double;
    policeRate, policeBurst, mtu, synDrops, mss, windowCap, sackOff, scaleOff, stampsOff: int64;
    copies, broken, overtakes, overtakeBy: double;
    downAt, downFor, stallEvery, stallFor, eraseOctets, eraseFor: int64;
    ringFrames, ringCost, poll: int64;
    sleepAfter, beacon, halfDuplex, mismatch, thin, storm, target: int64;
    { counters }
    frames, octets, lost, lostData, full, policed, tooLong, down, synsLost, copied, damaged, overtaken, thinned, rewritten, collided,
      overrun, early, held: int64;
    waitSum, waitMost: int64;
    procedure Drop(f: PFrame; var counter: int64);
    procedure Enqueue(f: PFrame);
    function RateAt(now: int64): int64;
    function StartOf(f: PFrame): int64;
    function Managed(f: PFrame; start: int64): boolean;
    procedure Sent(f: PFrame; start: int64);
    procedure Receive(f: PFrame; now: int64);
    procedure Rewrite(f: PFrame);
  end;

implementation

uses
  SysUtils, Math, Host;

constructor TWay.Create(salt: longint);
begin
  rate := 1000000000;
  queueOctets := NEVER;
  queueFrames := MOST_QUEUED - 1;
  ringFrames := MOST_QUEUED - 1;
  mtu := MOST_OCTETS;
  badLoss := 1;
  freeAt := Clock;
  filledAt := freeAt;
  nextStorm := NEVER;
end;

{$I settings.inc}

procedure TWay.Drop(f: PFrame; var counter: int64);
begin
  inc(counter);
  if (Payload(f) > 0) and (f^.data[0] <> $FF) then inc(lostData);
  FreeFrame(f);
end;

procedure TWay.Rewrite(f: PFrame);
begin
  if TcpFlags(f) and 2 <> 0 then
  begin
    shift := ScaleOf(f);
    if sackOff <> 0 then BlankOption(f, 4);
    if scaleOff <> 0 then BlankOption(f, 3);
    if stampsOff <> 0 then BlankOption(f, 8);
    if mss > 0 then ClampMss(f, mss);
    inc(rewritten);
  end
  else if windowCap > 0 then CapWindow(f, windowCap, shift);
end;

procedure TWay.Arrives(f: PFrame);
var
  now: int64;
  p: double;
  twin: PFrame;
begin
  now := f^.arrived;
  inc(frames);
  inc(octets, f^.len);
  if began = 0 then
  begin
    if Payload(f) > 0 then began := now;
    if (began > 0) and (other.began = 0) then other.began := now;
    if (began > 0) and (storm > 0) then nextStorm := now;
  end;
  if Word16(f, 12) <> $0800 then
  begin
    Enqueue(f);
    exit;
  end;
  if IsTcp(f) then
  begin
    if (TcpFlags(f) and 2 <> 0) and (synDrops > 0) then
    begin
      dec(synDrops);
      Drop(f, synsLost);
      exit;
    end;
    Rewrite(f);
  end;
  if f^.len - 14 > mtu then begin Drop(f, tooLong); exit; end;
  if (downFor > 0) and (began > 0) and (now >= began + downAt) and (now < began + downAt + downFor) then begin Drop(f, down); exit; end;
  if policeRate > 0 then
  begin
    tokens := min(policeBurst, tokens + (now - filledAt) * policeRate div 8000000000);
    if (now - filledAt) * policeRate div 8000000000 > 0 then filledAt := now;
    if tokens < f^.len then begin Drop(f, policed); exit; end;
    tokens := tokens - f^.len;
  end;
  p := loss;
  if badStart > 0 then
  begin
    if bad then bad := Random >= badEnd else bad := Random < badStart;
    if bad then p := badLoss;
  end;
  if (p > 0) and (Random < p) then begin Drop(f, lost); exit; end;
  if (broken > 0) and (Payload(f) > 40) and (Random < broken) then
  begin
    f^.data[f^.len - 1 - Random(30)] := f^.data[f^.len - 31] xor $55;
    inc(damaged);
  end;
  if (copies > 0) and (Random < copies) then
  begin
    twin := NewFrame;
    Move(f^, twin^, sizeof(TFrame));
    inc(copied);
    Enqueue(f);
    Enqueue(twin);
    exit;
  end;
  Enqueue(f);
end;

procedure TWay.Enqueue(f: PFrame);
var
  i: longint;
  it: PFrame;
begin
  if (thin > 0) and IsPureAck(f) then
    for i := queue.count - 1 downto 0 do
    begin
      it := queue.frames[(queue.first + i) and (MOST_QUEUED - 1)];
      if IsPureAck(it) and (CompareByte(it^.data[TcpAt(it)], f^.data[TcpAt(f)], 4) = 0) and (it^.len = f^.len) then
      begin
        Move(f^.data, it^.data, f^.len);
        inc(thinned);
        FreeFrame(f);
        exit;
      end;
    end;
  if (queue.count >= queueFrames) or (queued + f^.len > queueOctets) then begin Drop(f, full); exit; end;
  queued := queued + f^.len;
  queue.Add(f);
end;

{ The rate of a radio or a shared line goes up and down. }
function TWay.RateAt(now: int64): int64;
begin
  RateAt := rate;
  if ratePeriod = 0 then exit;
  if rateShare > 0 then
  begin
    if (now mod ratePeriod) * 100 < ratePeriod * rateShare then RateAt := rateLow;
  end
  else RateAt := round(rateLow + (rate - rateLow) * (0.5 + 0.5 * sin(2 * pi * (now mod ratePeriod) / ratePeriod)));
end;

function TWay.StartOf(f: PFrame): int64;
var
  start, phase: int64;
begin
  start := max(freeAt, f^.arrived);
  if (halfDuplex > 0) or (mismatch = 1) then start := max(start, other.freeAt);
  if slot > 0 then start := ((start + slot - 1) div slot) * slot;
  if (stallEvery > 0) and (began > 0) then
  begin
    phase := (start - began) mod stallEvery;
    if (start - began > stallEvery) and (phase < stallFor) then start := start + stallFor - phase;
  end;
  if start < stalledUntil then start := stalledUntil;
  if sleepAfter > 0 then start := max(start, wokenAt);
  if (sleepAfter > 0) and (start > awakeUntil) then
    start := max(start, ((start + beacon - 1) div beacon) * beacon);
  StartOf := start;
end;

{ CoDel (RFC 8289): whether a frame that leaves the queue passes. }
function TWay.Managed(f: PFrame; start: int64): boolean;
begin
  Managed := true;
  if (target = 0) or (Word16(f, 12) <> $0800) then exit;
  if (start - f^.arrived < target) or (queued < 3000) then
  begin
    aboveSince := 0;
    dropping := false;
    exit;
  end;
  if aboveSince = 0 then aboveSince := start;
  if not dropping and (start - aboveSince >= 100000000) then
  begin
    dropping := true;
    if (start - dropNext < 1600000000) and (drops > 2) then drops := drops - 2 else drops := 1;
    dropNext := start + round(1e8 / sqrt(drops));
    exit(false);
  end;
  if dropping and (start >= dropNext) then
  begin
    inc(drops);
    dropNext := dropNext + round(1e8 / sqrt(drops));
    exit(false);
  end;
end;

procedure TWay.Sent(f: PFrame; start: int64);
var
  waited, extra: int64;
begin
  waited := start - f^.arrived;
  waitSum := waitSum + waited;
  if waited > waitMost then waitMost := waited;
  if (followLoss > 0) and (start - freeAt < followGap) and (Random < followLoss) then f^.lost := true;
  freeAt := start + frameCost + (int64(max(f^.len, 60) + 24) * 8 * 1000000000) div RateAt(start);
  if (mismatch = 2) and (other.freeAt > start) then
  begin
    f^.lost := true;
    if other.line.count > 0 then
    begin
      other.line.Last^.lost := true;
      inc(other.collided);
    end;
    inc(collided);
  end;
  awakeUntil := max(awakeUntil, freeAt + sleepAfter);
  if (other.sleepAfter > 0) and (other.awakeUntil < start) then other.wokenAt := start;
  if other.sleepAfter > 0 then other.awakeUntil := max(other.awakeUntil, freeAt + other.sleepAfter);
  extra := 0;
  if jitter > 0 then extra := round(Random * jitter);
  f^.due := freeAt + delay + extra;
  if (overtakes > 0) and (lateCount < 255) and (Random < overtakes) then
  begin
    f^.due := f^.due + round(overtakeBy * (0.5 + Random));
    late[lateCount] := f;
    inc(lateCount);
    inc(overtaken);
    exit;
  end;
  if (line.count > 0) and (line.Last^.due > f^.due) then f^.due := line.Last^.due;
  line.Add(f);
end;

{ The receiver's adapter: a ring of frames, a time for each, an interval between looks, stops while flash is erased. }
procedure TWay.Receive(f: PFrame; now: int64);
var
  done: int64;
begin
  if f^.lost then begin Drop(f, lost); exit; end;
  if ring.count >= ringFrames then begin Drop(f, overrun); exit; end;
  done := now;
  if poll > 0 then done := ((now + poll - 1) div poll) * poll;
  done := max(done, ringFreeAt);
  if eraseFor > 0 then
  begin
    erased := erased + Payload(f);
    if erased >= eraseOctets then
    begin
      erased := erased - eraseOctets;
      done := done + eraseFor;
      inc(held);
      other.stalledUntil := done;
    end;
  end;
  ringFreeAt := done + ringCost;
  f^.due := ringFreeAt;
  ring.Add(f);
end;

procedure TWay.Advance(now: int64);
var
  f: PFrame;
  start: int64;
  i, j: longint;
begin
  while nextStorm <= now do
  begin
    f := NewFrame;
    f^.len := 60;
    FillChar(f^.data, 60, 0);
    FillChar(f^.data, 6, $FF);
    f^.data[6] := 2; f^.data[11] := $77;
    f^.data[12] := 8; f^.data[13] := 6; f^.data[15] := 1; f^.data[16] := 8; f^.data[18] := 6; f^.data[19] := 4; f^.data[21] := 1;
    f^.data[22] := 2; f^.data[27] := $77; f^.data[28] := 169; f^.data[29] := 254; f^.data[31] := 9;
    f^.data[38] := 169; f^.data[39] := 254; f^.data[41] := Random(250);
    f^.arrived := nextStorm;
    Enqueue(f);
    nextStorm := nextStorm + 1000000000 div storm;
  end;
  while queue.count > 0 do
  begin
    start := StartOf(queue.Head);
    if start > now then break;
    f := queue.Take;
    if Managed(f, start) then
    begin
      queued := queued - f^.len;
      Sent(f, start);
    end
    else
    begin
      queued := queued - f^.len;
      Drop(f, early);
    end;
  end;
  while (line.count > 0) and (line.Head^.due <= now) do
  begin
    f := line.Take;
    Receive(f, f^.due);
  end;
  i := 0;
  while i < lateCount do
    if late[i]^.due <= now then
    begin
      f := late[i];
      for j := i to lateCount - 2 do late[j] := late[j + 1];
      dec(lateCount);
      Receive(f, f^.due);
    end
    else inc(i);
end;

function TWay.Ready(now: int64): PFrame;
begin
  Ready := nil;
  if (ring.count > 0) and (ring.Head^.due <= now) then Ready := ring.Take;
end;

function TWay.Next: int64;
var
  i: longint;
begin
  Next := nextStorm;
  if queue.count > 0 then Next := min(Next, StartOf(queue.Head));
  if line.count > 0 then Next := min(Next, line.Head^.due);
  if ring.count > 0 then Next := min(Next, ring.Head^.due);
  for i := 0 to lateCount - 1 do Next := min(Next, late[i]^.due);
end;

function TWay.Counters: string;
begin
  Counters := Format('{"frames": %d, "octets": %d, "lost": %d, "lostData": %d, "full": %d, "policed": %d, "tooLong": %d, "down": %d, ' +
    '"synsLost": %d, "copied": %d, "broken": %d, "overtaken": %d, "thinned": %d, "rewritten": %d, "collided": %d, "overrun": %d, ' +
    '"early": %d, "held": %d, "unwritten": %d, "waitMsSum": %d, "waitMsMost": %d}',
    [frames, octets, lost, lostData, full, policed, tooLong, down, synsLost, copied, damaged, overtaken, thinned, rewritten, collided,
    overrun, early, held, unwritten, waitSum div 1000000, waitMost div 1000000]);
end;

end.
