## The path: two TAP interfaces, a direction each way, and a capture beside one of them.
##
##     path CONFIG.json      prints "ready", then counts when it is ended

import std/[json, deques, heapqueue, random, posix, os, algorithm]
import frames, way

{.passC: "-D_GNU_SOURCE".}

type Ifreq {.importc: "struct ifreq", header: "<net/if.h>", incompleteStruct.} = object
proc ioctlTap(fd: cint, request: culong, arg: pointer): cint {.importc: "ioctl", header: "<sys/ioctl.h>".}
proc ppoll(fds: ptr TPollfd, n: culong, timeout: ptr Timespec, mask: pointer): cint {.importc, header: "<poll.h>".}

var ended = false

proc clock(id: ClockId): int64 =
  var t: Timespec
  discard clock_gettime(id, t)
  int64(t.tv_sec) * 1_000_000_000 + int64(t.tv_nsec)

proc now(): int64 = clock(CLOCK_MONOTONIC)

proc tap(name: string): cint =
  result = open("/dev/net/tun", O_RDWR or O_NONBLOCK)
  var request: array[40, byte]
  for i, c in name: request[i] = byte(c)
  request[16] = 0x02      # IFF_TAP
  request[17] = 0x10      # IFF_NO_PI
  if result < 0 or ioctlTap(result, 0x400454ca, addr request) < 0: quit("no TAP interface " & name)

type Capture = object
  file: File
  snap: int

proc put32(d: var seq[byte], value: int64) =
  for i in 0 .. 3: d.add(byte(value shr (8 * i) and 255))

proc newCapture(name: string, snap: int): Capture =
  result = Capture(file: open(name, fmWrite, 1 shl 20), snap: snap)
  var head: seq[byte]
  head.put32(0xa1b2c3d4)
  head.put32(2 or 4 shl 16)
  head.put32(0)
  head.put32(0)
  head.put32(snap)
  head.put32(1)
  discard result.file.writeBytes(head, 0, head.len)

proc write(c: Capture, data: seq[byte]) =
  let at = clock(CLOCK_REALTIME)
  let kept = min(c.snap, data.len)
  var head: seq[byte]
  head.put32(at div 1_000_000_000)
  head.put32(at mod 1_000_000_000 div 1000)
  head.put32(kept)
  head.put32(data.len)
  discard c.file.writeBytes(head, 0, 16)
  discard c.file.writeBytes(data, 0, kept)

proc storm(number: int): seq[byte] =
  ## An ARP request for an address that nobody has, to all.
  result = newSeq[byte](60)
  for i in 0 .. 5: result[i] = 255
  let head = [byte 2, 0x5e, 0x10, 0, 7, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0x5e, 0x10, 0, 7, 9, 10, 99, 0, 7, 0, 0, 0, 0, 0, 0, 10, 99]
  for i, b in head: result[6 + i] = b
  result[40] = byte(number shr 8 and 255)
  result[41] = byte(number and 255)

proc main() =
  let config = parseFile(paramStr(1))
  let fds = [tap(config["taps"][0].getStr), tap(config["taps"][1].getStr)]
  onSignal(SIGTERM): ended = true
  onSignal(SIGINT): ended = true
  let began = now()
  let seed = config["seed"].getInt.int64
  let ways = [newWay(config["ways"][0], seed, began), newWay(config["ways"][1], seed xor 0x5bd1e995, began)]   # from A, from B
  var rng = initRand(seed + 77)
  let middle = config{"middle_side"}.getInt
  let capture = newCapture(config["capture"].getStr, config["snap"].getInt)
  let isShared = config{"half_duplex"}.getBool
  let turnNs = int64(config{"turn_us"}.getFloat * 1e3)
  let collideChance = config{"collide"}.getFloat
  let mismatch = config{"mismatch"}.getInt(-1)     # the direction of the end that is half duplex
  var mediumFree, backoff: int64
  var lastDirection = -1
  var attempts = 0
  let stormGap = if config{"storm_per_s"}.getFloat > 0: int64(1e9 / config["storm_per_s"].getFloat) else: 0
  var stormNext = began + 300_000_000
  var stormCount = 0
  var late: seq[int64]
  echo "ready"
  flushFile(stdout)
  var buffer = newSeq[byte](2048)

  proc deliver(side: int, data: seq[byte]) =
    if side == middle: capture.write(data)
    discard write(fds[side], unsafeAddr data[0], data.len)

  while not ended:
    # What is due, in the order of time
    while true:
      let t = now()
      var next = high(int64)
      var what = -1
      for d in 0 .. 1:
        let w = ways[d]
        if w.onWay.len > 0 and w.onWay[0].due < next: (next, what) = (w.onWay[0].due, d)
        if w.inService:
          if w.serviceEnds < next: (next, what) = (w.serviceEnds, 2 + d)
        else:
          var at = w.mayStart
          if at >= 0:
            if isShared:
              at = max(at, mediumFree + (if lastDirection != d: turnNs else: 0))
              if ways[1 - d].inService: at = -1
            elif mismatch == d:
              # The half-duplex end waits while it hears the other one, and after a collision.
              at = max(at, backoff)
              if ways[1 - d].inService: at = max(at, ways[1 - d].serviceEnds)
            if at >= 0 and at < next: (next, what) = (at, 4 + d)
      if stormGap > 0 and stormNext < next: (next, what) = (stormNext, 6)
      if what < 0 or next > t:
        var span = if what < 0: 20_000_000'i64 else: min(next - t, 20_000_000)
        var polls = [TPollfd(fd: fds[0], events: POLLIN), TPollfd(fd: fds[1], events: POLLIN)]
        var wait = Timespec(tv_sec: posix.Time(0), tv_nsec: clong(span))
        discard ppoll(addr polls[0], 2, addr wait, nil)
        if ((polls[0].revents.int or polls[1].revents.int) and (POLLERR.int or POLLHUP.int or POLLNVAL.int)) != 0: ended = true   # its namespace is gone
        break
      if what < 4: late.add(t - next)
      case what
      of 0, 1:
        let f = ways[what].onWay.pop
        deliver(1 - what, f.data)
      of 2, 3:
        let d = what - 2
        let w = ways[d]
        if isShared:
          mediumFree = w.serviceEnds
          lastDirection = d
        let f = w.queue.peekFirst
        if f.spoiled:
          f.spoiled = false
          inc w.counts.lateCollisions
          w.finish(w.serviceEnds, true)
        else: w.finish(w.serviceEnds)
      of 4, 5:
        let d = what - 4
        let w = ways[d]
        if isShared and collideChance > 0 and ways[1 - d].queue.len > 0 and rng.rand(1.0) < collideChance:
          # Both wanted to begin: a jam, and slots of 51.2 us at 10 Mbit/s (512 bit times) for one of them.
          inc w.counts.collided
          attempts = min(attempts + 1, 10)
          let slot = w.lineNs(64, t) - w.lineNs(0, t)
          mediumFree = t + slot * int64(1 + rng.rand((1 shl min(attempts, 6)) - 1))
          continue
        attempts = 0
        discard w.start(max(next, t - 2_000_000))
        if mismatch >= 0 and d != mismatch and ways[mismatch].inService:
          # The full-duplex end does not listen: it hits the frame that comes, and its own cannot be received.
          w.queue.peekFirst.spoiled = true
          ways[mismatch].queue.peekFirst.spoiled = true
          backoff = w.serviceEnds + int64(rng.rand(1.0) * 2e5)
      else:
        let frame = storm(stormCount)
        for w in ways: w.take(frame, t)
        inc stormCount
        stormNext = max(stormNext + stormGap, t - 50_000_000)
    # What comes, of both interfaces
    for turn in 0 .. 63:
      var any = false
      for side in 0 .. 1:
        let n = read(fds[side], addr buffer[0], buffer.len)
        if n > 0:
          any = true
          let data = buffer[0 ..< n]
          if side == middle: capture.write(data)
          ways[side].take(data, now())
      if not any: break

  close(capture.file)
  late.sort
  var shown = %*{"ways": [ways[0].counts, ways[1].counts], "storm": stormCount}
  shown["late_p99_ms"] = %(if late.len > 0: float(late[late.len * 99 div 100]) / 1e6 else: 0.0)
  shown["late_max_ms"] = %(if late.len > 0: float(late[^1]) / 1e6 else: 0.0)
  echo $shown

main()
