## One direction of the path: what is dropped, rewritten or copied as it comes, a queue before a line, and the way behind it.

import std/[deques, heapqueue, json, random, math]
import frames

type
  Counts* = object
    frames*, octets*, lost*, lostData*, policed*, full*, early*, tooLong*, down*, synsLost*, copied*, broken*, overtaken*, marked*,
      thinned*, rewritten*, collided*, lateCollisions*, storm*: int
    waitMsSum*, waitMsMost*: float
  Loss = object
    chance, enter, leave, inside: float   ## alone; Gilbert and Elliott's bad state
    every, least: int                     ## each so manieth frame with so many octets of payload
    periodNs, spanNs: int64               ## windows of time
    insideChance: float
    behindNs: int64                       ## a frame so soon behind the one before
    behindDepth: int                      ## ... and so many in a row
  Way* = ref object
    counts*: Counts
    rng: Rand
    began*: int64
    # As it comes
    loss: Loss
    isBad: bool
    seen, row: int
    lastCame: int64
    outages: seq[(int64, int64)]
    mtu, synsToLose, mssMost, windowMost: int
    codes: seq[int]
    policeBits, policeBurst, tokens: float
    policeAt: int64
    copyChance, breakChance: float
    broadcastNs: int64   ## more for a frame to all, which a radio sends at its lowest rate
    thin: int
    # Queue and line
    queue*: Deque[Frame]
    queuedOctets*: int
    bits: float
    steps: seq[(int64, float)]
    overhead: int
    frameNs: int64
    mostFrames, mostOctets: int
    mostNs: int64
    headDrop: bool
    redLow, redHigh, redChance: float
    markNs: int64
    stallPeriodNs, stallNs: int64
    slotNs: int64
    slotFrames, slotLeft: int
    slotAt: int64
    sleepIdleNs, beaconNs, lastUse: int64
    inService*: bool
    serviceEnds*, freeAt: int64
    # Behind the line
    delayNs, jitterNs, lastDue: int64
    overtakeChance: float
    overtakeNs: int64
    order: int64
    onWay*: HeapQueue[Frame]

proc `<`*(a, b: Frame): bool = a.due < b.due or (a.due == b.due and a.order < b.order)

func ms(it: JsonNode, key: string): int64 = int64(it{key}.getFloat(0) * 1e6)

proc newWay*(it: JsonNode, seed: int64, began: int64): Way =
  result = Way(rng: initRand(seed), began: began, lastDue: 0)
  let l = it{"loss"}
  if l != nil:
    result.loss = Loss(chance: l{"chance"}.getFloat, enter: l{"enter"}.getFloat, leave: l{"leave"}.getFloat(1),
      inside: l{"inside"}.getFloat(1), every: l{"every"}.getInt, least: l{"least"}.getInt, periodNs: l.ms("period_ms"),
      spanNs: l.ms("span_ms"), insideChance: l{"inside_chance"}.getFloat(1), behindNs: l.ms("behind_ms"), behindDepth: l{"behind_depth"}.getInt)
  if it{"outages"} != nil:
    for o in it["outages"]: result.outages.add((int64(o[0].getFloat * 1e9), int64(o[1].getFloat * 1e9)))
  result.mtu = it{"mtu"}.getInt
  result.synsToLose = it{"syns_lost"}.getInt
  result.mssMost = it{"mss_most"}.getInt
  result.windowMost = it{"window_most"}.getInt
  if it{"without_options"} != nil:
    for o in it["without_options"]: result.codes.add(o.getInt)
  result.policeBits = it{"police"}.getFloat
  result.policeBurst = it{"police_burst"}.getFloat * 8
  result.tokens = result.policeBurst
  result.policeAt = began
  result.copyChance = it{"copy"}.getFloat
  result.broadcastNs = int64(it{"broadcast_us"}.getFloat * 1e3)
  result.breakChance = it{"broken"}.getFloat
  result.thin = it{"thin"}.getInt
  result.bits = it{"rate"}.getFloat
  if it{"steps"} != nil:
    for s in it["steps"]: result.steps.add((int64(s[0].getFloat * 1e9), s[1].getFloat))
  result.overhead = it{"overhead"}.getInt(24)
  result.frameNs = int64(it{"frame_us"}.getFloat * 1e3)
  result.mostFrames = it{"queue_frames"}.getInt
  result.mostOctets = it{"queue_octets"}.getInt
  result.mostNs = it.ms("queue_ms")
  result.headDrop = it{"head_drop"}.getBool
  if it{"red"} != nil:
    (result.redLow, result.redHigh, result.redChance) = (it["red"][0].getFloat, it["red"][1].getFloat, it["red"][2].getFloat)
  result.markNs = it.ms("mark_ms")
  result.stallPeriodNs = it.ms("stall_period_ms")
  result.stallNs = it.ms("stall_ms")
  result.slotNs = it.ms("slot_ms")
  result.slotFrames = it{"slot_frames"}.getInt(1_000_000)
  result.sleepIdleNs = it.ms("sleep_idle_ms")
  result.beaconNs = it.ms("beacon_ms")
  result.delayNs = it.ms("delay_ms")
  result.jitterNs = it.ms("jitter_ms")
  result.overtakeChance = it{"overtake"}.getFloat
  result.overtakeNs = it.ms("overtake_ms")

proc rateNow(w: Way, now: int64): float =
  result = w.bits
  for (since, bits) in w.steps:
    if now - w.began >= since: result = bits

proc lineNs*(w: Way, octets: int, now: int64): int64 =
  ## How long the line needs for a frame.
  result = w.frameNs
  let bits = w.rateNow(now)
  if bits > 0: result += int64(float(octets + w.overhead) * 8e9 / bits)

proc drop(w: Way, k: Kind) =
  inc w.counts.lost
  if k.payload > 0: inc w.counts.lostData

proc isLost(w: Way, k: Kind, now: int64): bool =
  let l = w.loss
  if l.behindNs > 0:
    w.row = if now - w.lastCame < l.behindNs: w.row + 1 else: 0
    w.lastCame = now
    if w.row >= l.behindDepth and w.rng.rand(1.0) < l.insideChance:
      w.lastCame = 0
      return true
  if k.payload < l.least: return false
  if l.chance > 0 and w.rng.rand(1.0) < l.chance: return true
  if l.enter > 0:
    if w.isBad:
      if w.rng.rand(1.0) < l.leave: w.isBad = false
    elif w.rng.rand(1.0) < l.enter: w.isBad = true
    if w.isBad and w.rng.rand(1.0) < l.inside: return true
  if l.every > 0:
    inc w.seen
    if w.seen mod l.every == 0: return true
  if l.periodNs > 0 and (now - w.began) mod l.periodNs >= l.periodNs - l.spanNs and w.rng.rand(1.0) < l.insideChance: return true

proc conforms(w: Way, octets: int, now: int64): bool =
  w.tokens = min(w.policeBurst, w.tokens + float(now - w.policeAt) * w.policeBits / 1e9)
  w.policeAt = now
  if w.tokens < float(octets * 8): return false
  w.tokens -= float(octets * 8)
  true

proc isFull(w: Way, octets: int, now: int64): bool =
  if w.mostFrames > 0 and w.queue.len >= w.mostFrames: return true
  if w.mostOctets > 0 and w.queuedOctets + octets > w.mostOctets: return true
  if w.mostNs > 0 and w.lineNs(w.queuedOctets, now) + w.queue.len.int64 * w.frameNs > w.mostNs and w.queue.len > 0: return true

proc enqueue(w: Way, f: Frame, k: Kind, now: int64) =
  if w.isFull(f.data.len, now):
    inc w.counts.full
    if w.headDrop and w.queue.len > 0:
      let old = w.queue.popFirst
      w.queuedOctets -= old.data.len
      w.drop(old.data.kind)
    else:
      w.drop(k)
      return
  if w.redHigh > 0:
    let depth = w.queue.len.float
    if depth > w.redLow and w.rng.rand(1.0) < w.redChance * (depth - w.redLow) / (w.redHigh - w.redLow):
      inc w.counts.early
      w.drop(k)
      return
  if w.thin > 0 and k.tcp and k.payload == 0 and not k.syn and w.queue.len > 0:
    # A modem keeps the newest of the acknowledgments that wait, of each connection.
    let ports = (u16(f.data, k.l4), u16(f.data, k.l4 + 2))
    for i in countdown(w.queue.len - 1, max(0, w.queue.len - w.thin)):
      let other = w.queue[i].data.kind
      if other.tcp and other.payload == 0 and not other.syn and (u16(w.queue[i].data, other.l4), u16(w.queue[i].data, other.l4 + 2)) == ports:
        w.queuedOctets += f.data.len - w.queue[i].data.len
        w.queue[i] = f
        inc w.counts.thinned
        return
  w.queue.addLast(f)
  w.queuedOctets += f.data.len

proc take*(w: Way, data: seq[byte], now: int64) =
  ## A frame comes from an interface.
  inc w.counts.frames
  w.counts.octets += data.len
  var f = Frame(data: data, came: now)
  let k = f.data.kind
  for (at, span) in w.outages:
    if now - w.began >= at and now - w.began < at + span:
      inc w.counts.down
      w.drop(k)
      return
  if k.ip:
    if w.mtu > 0 and k.total > w.mtu:
      inc w.counts.tooLong
      w.drop(k)
      return
    if k.syn and w.synsToLose > 0:
      dec w.synsToLose
      inc w.counts.synsLost
      w.drop(k)
      return
    if k.tcp:
      if k.syn:
        if w.mssMost > 0:
          f.data.clampMss(k, w.mssMost)
          inc w.counts.rewritten
        if w.codes.len > 0 and f.data.blank(k, w.codes): inc w.counts.rewritten
      if w.windowMost > 0 and not k.syn and f.data.capWindow(k, w.windowMost): inc w.counts.rewritten
    if w.isLost(k, now):
      w.drop(k)
      return
    if w.policeBits > 0 and not w.conforms(f.data.len, now):
      inc w.counts.policed
      w.drop(k)
      return
    if w.breakChance > 0 and k.payload > 200 and w.rng.rand(1.0) < w.breakChance:
      f.data[f.data.len - 1 - w.rng.rand(150)] = f.data[f.data.len - 1 - w.rng.rand(150)] xor byte(1 + w.rng.rand(254))
      inc w.counts.broken
  w.enqueue(f, k, now)
  if w.copyChance > 0 and k.ip and w.rng.rand(1.0) < w.copyChance:
    inc w.counts.copied
    w.enqueue(Frame(data: f.data, came: now), k, now)

proc startAt(w: Way, now: int64): int64 =
  ## When the frame at the head may begin, if nothing else is on the line.
  result = now
  if w.stallPeriodNs > 0:
    let into = (result - w.began) mod w.stallPeriodNs
    if into >= w.stallPeriodNs - w.stallNs: result += w.stallPeriodNs - into
  if w.slotNs > 0:
    let slot = (result - w.began) div w.slotNs
    if slot != w.slotAt:
      w.slotAt = slot
      w.slotLeft = w.slotFrames
    if w.slotLeft == 0: result = w.began + (slot + 1) * w.slotNs
  if w.beaconNs > 0 and w.lastUse > 0 and result - w.lastUse > w.sleepIdleNs:
    let next = w.began + ((result - w.began) div w.beaconNs + 1) * w.beaconNs
    result = next

proc mayStart*(w: Way): int64 =
  ## When to begin the next frame; -1: nothing waits.
  if w.inService or w.queue.len == 0: return -1
  w.startAt(max(w.freeAt, w.queue.peekFirst.came))

proc start*(w: Way, now: int64): Frame =
  result = w.queue.peekFirst
  w.inService = true
  if w.slotNs > 0: dec w.slotLeft
  w.serviceEnds = now + w.lineNs(result.data.len, now) + (if result.data[0] == 255: w.broadcastNs else: 0)

proc finish*(w: Way, now: int64, isLost = false) =
  ## The frame at the head has left the line.
  let f = w.queue.popFirst
  w.queuedOctets -= f.data.len
  w.inService = false
  w.lastUse = now
  w.freeAt = now
  let waited = float(now - f.came) / 1e6
  w.counts.waitMsSum += waited
  w.counts.waitMsMost = max(w.counts.waitMsMost, waited)
  let k = f.data.kind
  if isLost:
    w.drop(k)
    return
  if w.markNs > 0 and now - f.came > w.markNs and f.data.mark(k): inc w.counts.marked
  inc w.order
  f.order = w.order
  f.due = now + w.delayNs
  if w.jitterNs > 0: f.due += int64(w.rng.rand(1.0) * w.jitterNs.float)
  if w.overtakeChance > 0 and w.rng.rand(1.0) < w.overtakeChance:
    f.due += w.overtakeNs
    inc w.counts.overtaken
  else:
    f.due = max(f.due, w.lastDue)
    w.lastDue = f.due
  w.onWay.push(f)
