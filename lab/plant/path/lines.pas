{ Frames that are free, and lines of frames that wait. }
unit Lines;
{$mode objfpc}{$H+}{$R-}{$Q-}

interface

uses
  Frames;

const
  MOST_QUEUED = 16384;
  NEVER = high(int64);

type
  TLine = object
    frames: array[0..MOST_QUEUED - 1] of PFrame;
    first, count: longint;
    procedure Add(f: PFrame);
    function Take: PFrame;
    function Head: PFrame; inline;
    function Last: PFrame; inline;
  end;

function NewFrame: PFrame;
procedure FreeFrame(f: PFrame);

implementation

var
  pool: array[0..POOL_SIZE - 1] of PFrame;
  free: longint = 0;
  i: longint;

function NewFrame: PFrame;
begin
  if free = 0 then New(NewFrame)
  else
  begin
    dec(free);
    NewFrame := pool[free];
  end;
  NewFrame^.lost := false;
end;

procedure FreeFrame(f: PFrame);
begin
  if free = POOL_SIZE then Dispose(f)
  else
  begin
    pool[free] := f;
    inc(free);
  end;
end;

procedure TLine.Add(f: PFrame);
begin
  frames[(first + count) and (MOST_QUEUED - 1)] := f;
  inc(count);
end;

function TLine.Take: PFrame;
begin
  Take := frames[first];
  first := (first + 1) and (MOST_QUEUED - 1);
  dec(count);
end;

function TLine.Head: PFrame; inline;
begin
  Head := frames[first];
end;

function TLine.Last: PFrame; inline;
begin
  Last := frames[(first + count - 1) and (MOST_QUEUED - 1)];
end;

initialization
  for i := 0 to POOL_SIZE - 1 do
  begin
    New(pool[i]);
    FillChar(pool[i]^, sizeof(TFrame), 0);
  end;
  free := POOL_SIZE;
end.
