# Programs at the ends: streams, requests and answers, datagrams, blocks, a name server.
#
#   ruby ends.rb MODE key=value ...      prints a line of JSON when it ends
require "json"
require "socket"

MODE = ARGV[0]
OPT = Hash.new { |_, _| nil }
ARGV[1..].each { |it| key, value = it.split("=", 2); OPT[key] = value }

def opt(key, default) = OPT.key?(key) ? (default.is_a?(Integer) ? OPT[key].to_i : default.is_a?(Float) ? OPT[key].to_f : OPT[key]) : default
def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def shown(**it) = puts(it.to_json)

def prepared(socket)
  socket.setsockopt(:SOCKET, :RCVBUF, opt("rcvbuf", 0)) if opt("rcvbuf", 0) > 0
  socket.setsockopt(:SOCKET, :SNDBUF, opt("sndbuf", 0)) if opt("sndbuf", 0) > 0
  socket.setsockopt(:TCP, Socket::TCP_MAXSEG, opt("mss", 0)) if opt("mss", 0) > 0
  socket.setsockopt(:TCP, Socket::TCP_NODELAY, opt("nodelay", 0))
  socket.setsockopt(:TCP, Socket::TCP_WINDOW_CLAMP, opt("clamp", 0)) if opt("clamp", 0) > 0
  socket.setsockopt(:SOCKET, 47, opt("pace", 0)) if opt("pace", 0) > 0   # SO_MAX_PACING_RATE
  socket
end

def made
  address = Addrinfo.tcp(opt("host", "0.0.0.0"), opt("port", 7000))
  prepared(Socket.new(address.ipv6? ? :INET6 : :INET, :STREAM))
end

def joined
  delay = opt("after", 0.0)
  sleep delay if delay > 0
  socket = made
  socket.connect(Addrinfo.tcp(opt("host", "127.0.0.1"), opt("port", 7000)))
  socket
end

def bound
  socket = made
  socket.setsockopt(:SOCKET, :REUSEADDR, 1)
  socket.bind(Addrinfo.tcp(opt("host", "0.0.0.0"), opt("port", 7000)))
  socket.listen(opt("backlog", 64))
  socket
end

# Yields each connection: the one that is made, or all that come (in threads).
def connections
  if opt("listen", 0) == 0
    list = opt("times", 1).times.map { Thread.new { yield joined } }
    list.each(&:join)
  else
    socket = bound
    list = opt("times", 1).times.map do
      one, = socket.accept
      sleep opt("accepts_after", 0.0)
      Thread.new(one) { |it| yield it }
    end
    list.each(&:join)
  end
end

# Sends `octets` in blocks; pauses behind every so many, or keeps to a rate.
def send_all(socket, octets)
  block = opt("block", 65_536)
  data = Random.new(octets).bytes(block)
  every, pause, rate = opt("every", 0), opt("pause", 0.0), opt("rate", 0.0)
  sent, began, since = 0, clock, 0
  most = opt("outq", 0)
  while sent < octets
    n = [block, octets - sent].min
    # A buffer that holds data until it is acknowledged, to the octet: the kernel's own grants a segment of 64 KB more.
    if most > 0
      left = [0].pack("i")
      loop do
        socket.ioctl(0x5411, left)   # SIOCOUTQ
        break if left.unpack1("i") + n <= most
        sleep 0.0004
      end
    end
    socket.write(n == block ? data : data[0, n])
    sent += n
    since += n
    if every > 0 && since >= every
      since -= every
      sleep pause
    end
    if rate > 0
      ahead = sent * 8 / rate - (clock - began)
      sleep ahead if ahead > 0.001
    end
  end
  sent
end

def read_all(socket)
  block = opt("block", 65_536)
  every, pause, rate = opt("every", 0), opt("pause", 0.0), opt("rate", 0.0)
  quiet = opt("first_after", 0.0)
  sleep quiet
  total, began, since = 0, clock, 0
  loop do
    part = begin
      socket.readpartial(block)
    rescue EOFError, Errno::ECONNRESET
      break
    end
    total += part.bytesize
    since += part.bytesize
    if every > 0 && since >= every
      since = 0
      sleep pause
    end
    if rate > 0
      ahead = total * 8 / rate - (clock - began)
      sleep ahead if ahead > 0.001
    end
    break if opt("leaves_after", 0) > 0 && total >= opt("leaves_after", 0)
  end
  total
end

def exactly(socket, n)
  data = +""
  while data.bytesize < n
    part = socket.readpartial(n - data.bytesize)
    data << part
  end
  data
end

case MODE
when "send"
  began = clock
  total = 0
  connections do |it|
    begin
      total += send_all(it, opt("octets", 1_000_000))
      it.close_write
      it.readpartial(1) rescue nil
    rescue SystemCallError
    end
    it.close
  end
  shown(sent: total, seconds: clock - began)
when "read"
  began, total = nil, 0
  connections do |it|
    began ||= clock
    total += read_all(it)
    it.close
  end
  shown(read: total, seconds: clock - (began || clock))
when "answer"   # each request of `ask` octets gets `give` octets, after `think`
  ask, give = opt("ask", 100), opt("give", 1000)
  think, every, parts, part_s = opt("think", 0.0), opt("think_every", 1), opt("parts", 1), opt("part_s", 0.0)
  turns = 0
  socket = bound
  data = Random.new(1).bytes([give, 1].max)
  one = opt("one_at_a_time", 0) == 1
  serve = lambda do |it|
    begin
      loop do
        exactly(it, ask)
        turns += 1
        sleep think if think > 0 && turns % every == 0
        if parts > 1
          size = give / parts
          parts.times { |i| it.write(data[0, size]); sleep part_s if part_s > 0 && i < parts - 1 }
        else
          it.write(data) if give > 0
        end
      end
    rescue EOFError, SystemCallError
    end
    it.close
  end
  trap("TERM") { puts({answered: turns}.to_json); exit! }
  loop do
    it, = socket.accept
    one ? serve.(it) : Thread.new { serve.(it) }
  end
when "ask"
  ask, give, turns, think = opt("ask", 100), opt("give", 1000), opt("turns", 10), opt("think", 0.0)
  every, again, depth, writes = opt("think_every", 1), opt("connect_each", 0), opt("depth", 1), opt("writes", 1)
  tick = opt("tick", 0.0)
  began, done, worst, thought = clock, 0, 0.0, 0.0
  data = Random.new(2).bytes(ask)
  waits = []
  opt("times", 1).times.map do
    Thread.new do
      it = joined
      turns.times do |i|
        if again == 1 && i > 0
          it.close
          it = joined
        end
        at = clock
        if i.zero? || depth == 1
          depth.times do
            if writes > 1
              size = ask / writes
              (writes - 1).times { |w| it.write(data[w * size, size]) }
              it.write(data[(writes - 1) * size..])
            else
              it.write(data)
            end
          end
        elsif i <= turns - depth
          it.write(data)
        end
        exactly(it, give) if give > 0
        waits << clock - at
        done += 1
        if think > 0 && (i + 1) % every == 0 && i < turns - 1
          sleep think
          thought += think
        end
        if tick > 0
          ahead = began + (i + 1) * tick - clock
          sleep ahead if ahead > 0
        end
      end
      it.close
    rescue EOFError, SystemCallError => error
      shown(failed: error.class.name)
    end
  end.each(&:join)
  shown(asked: done, seconds: clock - began, thought: thought, median_ms: (waits.sort[waits.size / 2] || 0) * 1e3)
when "datagrams"   # a number in front; at a rate, or `turns` of `burst` each `tick`
  socket = UDPSocket.new(opt("host", "").include?(":") ? :INET6 : :INET)
  socket.bind(opt("host", "").include?(":") ? "::" : "0.0.0.0", opt("from", 0)) if opt("from", 0) > 0
  socket.connect(opt("host", "127.0.0.1"), opt("port", 7100))
  size, rate, seconds, tick, burst = opt("size", 1000), opt("rate", 1e6), opt("seconds", 3.0), opt("tick", 0.0), opt("burst", 1)
  tick = size * 8 / rate * burst if tick <= 0
  began, sent = clock, 0
  body = "x" * (size - 4)
  while clock - began < seconds
    burst.times do
      begin
        socket.send([sent].pack("N") + body, 0)
      rescue SystemCallError
      end
      sent += 1
    end
    ahead = began + (sent / burst) * tick - clock
    sleep ahead if ahead > 0
  end
  shown(sent_datagrams: sent, seconds: clock - began)
when "count"
  socket = UDPSocket.new(opt("host", "").include?(":") ? :INET6 : :INET)
  socket.setsockopt(:SOCKET, :RCVBUF, opt("rcvbuf", 4_000_000))
  socket.bind(opt("host", "").include?(":") ? "::" : "0.0.0.0", opt("port", 7100))
  got, last, late, back = 0, -1, opt("each_s", 0.0), opt("back", 0)
  trap("TERM") { puts({datagrams: got, missing: last + 1 - got}.to_json); exit! }
  loop do
    data, from = socket.recvfrom(65_535)
    got += 1
    last = [last, data.unpack1("N")].max
    sleep late if late > 0
    socket.send(data[0, back], 0, from[3], from[1]) if back > 0
  end
when "blocks"   # blocks over UDP, `window` of them in flight, each window acknowledged
  if opt("listen", 0) == 1
    socket = UDPSocket.new
    socket.bind("0.0.0.0", opt("port", 7200))
    last = -1
    trap("TERM") { puts({blocks: last + 1}.to_json); exit! }
    loop do
      data, from = socket.recvfrom(65_535)
      number, asks = data.unpack("NC")
      last = number if number == last + 1
      if asks == 1 || number != last
        sleep opt("works", 0.0) if opt("works", 0.0) > 0
        socket.send([last].pack("N"), 0, from[3], from[1])
      end
    end
  else
    socket = UDPSocket.new
    socket.connect(opt("host", "127.0.0.1"), opt("port", 7200))
    size, window, count, patience = opt("size", 516), opt("window", 1), opt("octets", 500_000) / opt("size", 516), opt("patience", 1.0)
    began, base, again = clock, 0, 0
    body = "b" * (size - 5)
    while base < count
      ends = [base + window, count].min
      (base...ends).each { |i| socket.send([i, i == ends - 1 ? 1 : 0].pack("NC") + body, 0) }
      if socket.wait_readable(patience)
        base = [base, socket.recv(100).unpack1("N") + 1].max
        while socket.wait_readable(0)
          base = [base, socket.recv(100).unpack1("N") + 1].max
        end
      else
        again += 1
      end
      break if clock - began > opt("most_s", 25.0)
    end
    shown(blocks_sent: base, repeated: again, seconds: clock - began)
  end
when "names"   # answers A queries of any name with `address`, after `think`; `deaf` times not at all
  socket = UDPSocket.new
  socket.bind("0.0.0.0", 53)
  deaf, think = opt("deaf", 0), opt("think", 0.0)
  loop do
    data, from = socket.recvfrom(2000)
    if deaf > 0
      deaf -= 1
      next
    end
    Thread.new(data, from) do |query, peer|
      sleep think if think > 0
      at = 12
      at += query.getbyte(at) + 1 while query.getbyte(at) != 0
      question = query[12..at + 4]
      kind = question[-4, 2].unpack1("n")
      answers = kind == 1 ? 1 : 0
      reply = query[0, 2] + [0x8180, 1, answers, 0, 0].pack("n5") + question
      reply << [0xc00c, 1, 1, 60, 4].pack("nnnNn") + opt("address", "127.0.0.1").split(".").map(&:to_i).pack("C4") if answers == 1
      socket.send(reply, 0, peer[3], peer[1])
    end
  end
end
