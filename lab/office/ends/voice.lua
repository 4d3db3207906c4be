-- Voice as of RTP in Lua: lua5.4 voice.lua HOST PORT OWN_PORT OCTETS EACH_MS SECONDS
local socket = require("socket")
local host, port, own, octets, each, seconds = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4]), tonumber(arg[5]) / 1e3, tonumber(arg[6])
local udp = socket.udp()
udp:setsockname("*", own)
udp:settimeout(0)
local begun, sent, heard, stamp = socket.gettime(), 0, 0, math.random(0, 0x7fffffff)
local source = math.random(0, 0x7fffffff)
while socket.gettime() - begun < seconds do
  local header = string.pack(">BBI2I4I4", 0x80, sent == 0 and 0x80 or 0, sent & 0xffff, (stamp + sent * 160) & 0xffffffff, source)
  udp:sendto(header .. string.rep(string.char(0xd5), octets - 12), host, port)
  sent = sent + 1
  local due = begun + sent * each
  while true do
    local wait = due - socket.gettime()
    if wait <= 0 then break end
    socket.select({udp}, nil, wait)
    while udp:receivefrom() do heard = heard + 1 end
  end
end
print(string.format('{"voice_sent": %d, "voice_heard": %d}', sent, heard))
