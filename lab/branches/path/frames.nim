## What the path reads from a frame, and what a middlebox rewrites in it.

type
  Frame* = ref object
    data*: seq[byte]
    came*: int64        ## when it was read, ns
    due*: int64         ## when it is delivered, ns
    order*: int64       ## keeps frames of one time in their order
    spoiled*: bool      ## was hit on a line whose ends disagree on duplex
  Kind* = object
    ip*, tcp*, syn*, ack*, v6*: bool
    at*, l4*, total*, payload*: int

func u16*(d: seq[byte], at: int): int = d[at].int shl 8 or d[at + 1].int

proc put16*(d: var seq[byte], at, value: int) =
  d[at] = byte(value shr 8 and 255)
  d[at + 1] = byte(value and 255)

func kind*(d: seq[byte]): Kind =
  ## Ethernet, IPv4 or IPv6 without extension headers.
  if d.len < 34: return
  let ether = u16(d, 12)
  var protocol: int
  if ether == 0x0800:
    result.at = 14
    result.l4 = 14 + (d[14].int and 15) * 4
    result.total = u16(d, 16)
    protocol = d[23].int
  elif ether == 0x86dd and d.len >= 54:
    result.v6 = true
    result.at = 14
    result.l4 = 54
    result.total = 40 + u16(d, 18)
    protocol = d[20].int
  else: return
  result.ip = true
  let headers = result.l4 - result.at
  if protocol == 6 and d.len >= result.l4 + 20:
    result.tcp = true
    let flags = d[result.l4 + 13]
    result.syn = (flags and 2) != 0
    result.ack = (flags and 16) != 0
    result.payload = result.total - headers - (d[result.l4 + 12].int shr 4) * 4
  elif protocol == 17:
    result.payload = result.total - headers - 8

proc adjust(d: var seq[byte], sumAt, before, after: int) =
  ## RFC 1624, for a word at an even offset.
  var sum = (not u16(d, sumAt) and 0xffff) + (not before and 0xffff) + after
  while sum > 0xffff: sum = (sum and 0xffff) + (sum shr 16)
  d.put16(sumAt, not sum and 0xffff)

proc setWord(d: var seq[byte], k: Kind, at, value: int) =
  let before = u16(d, at)
  d.put16(at, value)
  d.adjust(k.l4 + 16, before, value)

proc setOctet(d: var seq[byte], k: Kind, at: int, value: byte) =
  let even = at - ((at - k.l4) and 1)
  let before = u16(d, even)
  d[at] = value
  d.adjust(k.l4 + 16, before, u16(d, even))

proc eachOption(d: var seq[byte], k: Kind, act: proc (d: var seq[byte], at, code, length: int)) =
  var at = k.l4 + 20
  let ends = min(d.len, k.l4 + (d[k.l4 + 12].int shr 4) * 4)
  while at < ends:
    let code = d[at].int
    if code == 0: break
    if code == 1:
      inc at
      continue
    if at + 1 >= ends: break
    let length = d[at + 1].int
    if length < 2: break
    act(d, at, code, length)
    at += length

proc clampMss*(d: var seq[byte], k: Kind, most: int) =
  eachOption(d, k, proc (d: var seq[byte], at, code, length: int) =
    if code == 2 and length == 4:
      let before = d[at + 2].int shl 8 or d[at + 3].int
      if before > most:
        d.setOctet(k, at + 2, byte(most shr 8))
        d.setOctet(k, at + 3, byte(most and 255)))

proc blank*(d: var seq[byte], k: Kind, codes: seq[int]): bool =
  ## Replaces options by no-operations, as firewalls do.
  var found = false
  eachOption(d, k, proc (d: var seq[byte], at, code, length: int) =
    if code in codes:
      found = true
      for i in at ..< at + length: d.setOctet(k, i, 1))
  found

proc capWindow*(d: var seq[byte], k: Kind, most: int): bool =
  ## `most` is the value of the field, whatever the scale.
  if u16(d, k.l4 + 14) > most:
    d.setWord(k, k.l4 + 14, most)
    return true

proc mark*(d: var seq[byte], k: Kind): bool =
  ## Congestion experienced, of a packet that can be marked (RFC 3168).
  if k.v6 or (d[k.at + 1].int and 3) notin {1, 2}: return false
  let before = u16(d, k.at)
  d[k.at + 1] = d[k.at + 1] or 3
  d.adjust(k.at + 10, before, u16(d, k.at))
  true
