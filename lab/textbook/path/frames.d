/// Frames of Ethernet with IPv4: what the path needs to know of them, and options of SYNs that it rewrites.
module frames;

ubyte[] ip(ubyte[] frame)
{
    return frame.length >= 34 && frame[12] == 8 && frame[13] == 0 ? frame[14 .. $] : null;
}

size_t total(const ubyte[] packet)
{
    return packet[2] << 8 | packet[3];
}

/// The segment of TCP, without padding, or null.
ubyte[] segment(ubyte[] packet)
{
    if (packet.length < 40 || packet[9] != 6)
        return null;
    const from = (packet[0] & 15) * 4, to = total(packet);
    return to <= packet.length && to >= from + 20 ? packet[from .. to] : null;
}

bool isPureAck(ubyte[] frame)
{
    auto packet = ip(frame);
    auto part = segment(packet);
    return part !is null && (part[13] & 7) == 0 && part.length == (part[12] >> 4) * 4;
}

bool isSyn(ubyte[] frame)
{
    auto part = segment(ip(frame));
    return part !is null && (part[13] & 2) != 0;
}

/// Octets that the ends want to pass: of TCP or UDP, without headers.
size_t payload(ubyte[] frame)
{
    auto packet = ip(frame);
    if (packet is null)
        return 0;
    auto part = segment(packet);
    if (part !is null)
        return part.length - (part[12] >> 4) * 4;
    const from = (packet[0] & 15) * 4 + 8;
    return packet[9] == 17 && total(packet) > from ? total(packet) - from : 0;
}

bool mustNotSplit(const ubyte[] packet)
{
    return (packet[6] & 0x40) != 0;
}

/// Addresses and ports, to compare.
ubyte[] flow(ubyte[] frame)
{
    auto packet = ip(frame);
    const at = (packet[0] & 15) * 4;
    return packet[12 .. 20] ~ packet[at .. at + 4];
}

ushort sum(const ubyte[] octets, uint start)
{
    uint total = start;
    for (size_t at = 0; at < octets.length; at += 2)
        total += octets[at] << 8 | (at + 1 < octets.length ? octets[at + 1] : 0);
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    return cast(ushort) total;
}

void writeChecksum(ubyte[] packet, ubyte[] part)
{
    part[16] = part[17] = 0;
    const pseudo = sum(packet[12 .. 20], 6 + cast(uint) part.length);
    const value = cast(ushort) ~sum(part, pseudo);
    part[16] = value >> 8;
    part[17] = value & 255;
}

/// Replaces the options `kinds` of a SYN by no-operations, and lowers its MSS to `most` unless that is 0.
void rewrite(ubyte[] frame, const ubyte[] kinds, size_t most)
{
    auto packet = ip(frame);
    auto part = segment(packet);
    size_t at = 20, end = (part[12] >> 4) * 4;
    while (at < end && part[at] != 0)
    {
        if (part[at] == 1)
        {
            at++;
            continue;
        }
        const octets = part[at + 1];
        if (octets < 2 || at + octets > end)
            break;
        foreach (kind; kinds)
            if (part[at] == kind)
            {
                part[at .. at + octets] = 1;
                break;
            }
        if (part[at] == 2 && most && (part[at + 2] << 8 | part[at + 3]) > most)
        {
            part[at + 2] = cast(ubyte)(most >> 8);
            part[at + 3] = most & 255;
        }
        at += octets;
    }
    writeChecksum(packet, part);
}

/// Says "congestion experienced" where the ends agreed to hear it.
bool mark(ubyte[] frame)
{
    auto packet = ip(frame);
    if (packet is null || (packet[1] & 3) == 0)
        return false;
    packet[1] |= 3;
    const from = (packet[0] & 15) * 4;
    packet[10] = packet[11] = 0;
    const value = cast(ushort) ~sum(packet[0 .. from], 0);
    packet[10] = value >> 8;
    packet[11] = value & 255;
    return true;
}
