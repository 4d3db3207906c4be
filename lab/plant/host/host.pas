{ What the path and the board need of Linux: its clock, TAP interfaces. }
unit Host;
{$mode objfpc}{$H+}

interface

{ Nanoseconds since the machine started. }
function Clock: int64;
{ A TAP interface without a header before the frames, which reads do not wait for. Ends the program if there is none. }
function OpenTap(const name: string): longint;

implementation

uses
  BaseUnix, UnixType, Linux;

const
  TUNSETIFF = $400454CA;

function Clock: int64;
var
  now: timespec;
begin
  clock_gettime(CLOCK_MONOTONIC, @now);
  Clock := int64(now.tv_sec) * 1000000000 + now.tv_nsec;
end;

function OpenTap(const name: string): longint;
var
  request: array[0..39] of byte;
  i: longint;
begin
  OpenTap := FpOpen('/dev/net/tun', O_RDWR or O_NONBLOCK);
  FillChar(request, sizeof(request), 0);
  for i := 1 to length(name) do request[i - 1] := ord(name[i]);
  { IFF_TAP, IFF_NO_PI }
  request[16] := 2;
  request[17] := $10;
  if (OpenTap < 0) or (FpIOCtl(OpenTap, TUNSETIFF, @request) < 0) then
  begin
    writeln(stderr, 'no TAP interface ', name);
    halt(1);
  end;
end;

end.
