/// One direction of the path: what happens to a frame before its line, on it, and behind it.
module way;

import std.random, std.math, std.algorithm, std.conv;
import frames;

alias Time = double; // seconds

/// Settings of a direction; 0 is "none". Durations are in milliseconds.
struct Settings
{
    double rate = 0, cost = 0;                 // bits per second; microseconds that each frame takes besides
    double queue = 0, queueMs = 0, markMs = 0; // packets or milliseconds that wait; marks beyond
    double targetMs = 0;                       // drops by the time spent in the queue (as CoDel does)
    double delay = 0, jitter = 0;
    double loss = 0, bad = 0, badLoss = 0, badPackets = 0; // share lost; share of packets at which a bad moment begins
    double fadeEvery = 0, fadeFor = 0;         // a radio that hears nothing for a while
    double downAt = 0, downFor = 0;            // once, counted from the first payload
    double policed = 0, bucket = 0;            // bits per second, octets
    double mtu = 0, mss = 0, strip = 0, strip2 = 0; // octets; kinds of options that go
    double lateShare = 0, lateMs = 0, secondMs = 0; // overtaken; two lines in turn
    double copies = 0, broken = 0;             // shares
    double slot = 0;                           // frames leave at multiples of it
    double beacon = 0, awake = 0;              // the station behind sleeps
    double lostSyns = 0;
    double duplex = 0;                         // 1: sends in half duplex (waits, collides), 2: in full duplex against such an end
    double thin = 0;                           // newer acknowledgments replace those that wait
    double deafUs = 0;                         // the station behind misses what arrives so soon after a frame that it took
    double slowest = 0, changeEvery = 0;       // the rate changes at random, down to this share of it
}

struct Counters
{
    long frames, octets, lost, lostData, policed, full, tooLong, copied, broken, overtaken, marked, held, thinned, down, synsLost, early, unheard, collisions, lateCollisions, garbled;
    double waitMsMost = 0, waitMsSum = 0;
}

struct Waiting
{
    ubyte[] frame;
    Time since;
}

final class Way
{
    Settings set;
    Counters count;
    Random random;
    Waiting[] line;
    bool busy;
    Time orderly = 0, taken = -1, tokensAt = 0, heard = -1e9, begun = -1, dropping = 0, changedAt = 0;
    double tokens = 0, share = 1;
    long turn, drops;
    bool isBad, isInDrop, isGarbled, isOnAir, hasDeferred;
    Way other;
    long attempts, transmission;
    Time startedAt = 0;
    void delegate(Time, ubyte[]) deliver; // at a time
    void delegate(Time, void delegate()) later;

    this(uint seed)
    {
        random = Random(seed);
    }

    private bool chance(double share)
    {
        return share > 0 && uniform01(random) < share;
    }

    private void lose(ubyte[] frame)
    {
        count.lost++;
        if (payload(frame))
            count.lostData++;
    }

    private bool survives(ubyte[] frame, Time now)
    {
        if (set.downFor && begun >= 0 && now - begun >= set.downAt / 1e3 && now - begun < (set.downAt + set.downFor) / 1e3)
        {
            count.down++;
            return false;
        }
        if (set.fadeFor && begun >= 0 && fmod(now - begun, set.fadeEvery / 1e3) > (set.fadeEvery - set.fadeFor) / 1e3)
            return false;
        if (isBad ? chance(1 / set.badPackets) : chance(set.bad))
            isBad = !isBad;
        if (chance(isBad ? set.badLoss : set.loss))
            return false;
        auto packet = ip(frame);
        if (set.mtu && packet !is null && total(packet) > set.mtu && mustNotSplit(packet))
        {
            count.tooLong++;
            return false;
        }
        if (isSyn(frame) && count.synsLost < set.lostSyns)
        {
            count.synsLost++;
            return false;
        }
        if (set.policed)
        {
            tokens = min(set.bucket, tokens + (now - tokensAt) * set.policed / 8);
            tokensAt = now;
            if (tokens < frame.length)
            {
                count.policed++;
                return false;
            }
            tokens -= frame.length;
        }
        return true;
    }

    /// A frame has come.
    void take(ubyte[] frame, Time now)
    {
        count.frames++;
        count.octets += frame.length;
        if (begun < 0 && payload(frame))
            begun = now;
        if (!survives(frame, now))
            return lose(frame);
        if (isSyn(frame) && (set.mss || set.strip))
            rewrite(frame, [cast(ubyte) set.strip, cast(ubyte) set.strip2], cast(size_t) set.mss);
        if (payload(frame) > 4 && chance(set.broken))
        {
            frame[$ - 1 - uniform(0, 4, random)] ^= cast(ubyte)(1 << uniform(0, 8, random));
            count.broken++;
        }
        enqueue(frame, now);
        if (chance(set.copies))
        {
            count.copied++;
            enqueue(frame.dup, now);
        }
    }

    private double seconds(const ubyte[] frame)
    {
        return (max(frame.length, 60) + 24) * 8 / (set.rate * share) + set.cost / 1e6;
    }

    private void enqueue(ubyte[] frame, Time now)
    {
        if (!set.rate)
            return leave(frame, now);
        if (set.thin && isPureAck(frame))
            foreach (ref it; line[min($, 1) .. $])
                if (isPureAck(it.frame) && flow(it.frame) == flow(frame))
                {
                    count.thinned++;
                    it.frame = frame;
                    return;
                }
        double waiting = 0;
        foreach (ref it; line)
            waiting += it.frame.length + 24;
        waiting *= 8e3 / (set.rate * share);
        if ((set.queue && line.length > set.queue) || (set.queueMs && waiting > set.queueMs))
        {
            count.full++;
            return lose(frame);
        }
        if (set.markMs && waiting > set.markMs && mark(frame))
            count.marked++;
        line ~= Waiting(frame, now);
        if (!busy)
            serve(now);
    }

    private void serve(Time now)
    {
        while (line.length && set.targetMs && shallDrop(now))
        {
            count.early++;
            lose(line[0].frame);
            line = line[1 .. $];
        }
        if (!line.length)
            return;
        if (set.changeEvery && now >= changedAt)
        {
            share = exp(uniform01(random) * log(set.slowest));
            changedAt = now + set.changeEvery / 1e3 * (0.5 + uniform01(random));
        }
        if (set.duplex == 1)
            return other.busy ? (hasDeferred = true, cast(void) 0) : attempt(now);
        busy = true;
        const end = now + seconds(line[0].frame);
        if (set.duplex == 2 && other.isOnAir)
            collide(now);
        later(end, {
            const waited = 1e3 * (end - line[0].since);
            count.waitMsMost = max(count.waitMsMost, waited);
            count.waitMsSum += waited;
            auto frame = line[0].frame;
            line = line[1 .. $];
            busy = false;
            if (isGarbled)
            {
                isGarbled = false;
                count.garbled++;
                lose(frame);
            }
            else
                leave(frame, end);
            serve(end);
            if (set.duplex == 2 && other.hasDeferred)
                other.attempt(end);
        });
    }

    private double slotTime()
    {
        return 512 / set.rate;
    }

    /// The full-duplex end begins while the other one transmits: its frame arrives broken, the other one stops.
    private void collide(Time now)
    {
        isGarbled = true;
        if (now - other.startedAt <= slotTime())
            other.retreat(now);
        else
            other.abort(now);
    }

    /// A late collision: the MAC gives the frame up.
    private void abort(Time now)
    {
        count.lateCollisions++;
        transmission++;
        isOnAir = busy = false;
        attempts = 0;
        lose(line[0].frame);
        line = line[1 .. $];
        later(now, { if (!busy && !hasDeferred && line.length) serve(now); });
    }

    /// The half-duplex end transmits, after it waited. The other end may have begun at the same moment.
    private void attempt(Time now)
    {
        hasDeferred = false;
        if (!line.length || busy)
            return;
        busy = true;
        startedAt = now;
        if (other.busy)
        {
            other.isGarbled = true;
            return retreat(now);
        }
        isOnAir = true;
        const end = now + seconds(line[0].frame), mine = ++transmission;
        later(end, {
            if (mine != transmission)
                return;
            auto frame = line[0].frame;
            line = line[1 .. $];
            isOnAir = busy = false;
            attempts = 0;
            leave(frame, end);
            serve(end);
        });
    }

    private void retreat(Time now)
    {
        isOnAir = false;
        transmission++;
        count.collisions++;
        if (++attempts > 15)
        {
            lose(line[0].frame);
            line = line[1 .. $];
            attempts = 0;
        }
        const wait = slotTime() * (1 + uniform(0, 1 << min(attempts, 10), random)), mine = transmission;
        later(now + wait, {
            if (mine != transmission)
                return;
            busy = false;
            if (line.length)
                serve(now + wait);
        });
    }

    /// As RFC 8289 does, with an interval of 100 ms.
    private bool shallDrop(Time now)
    {
        if (now - line[0].since < set.targetMs / 1e3 || line.length < 2)
        {
            isInDrop = false;
            dropping = 0;
            return false;
        }
        if (!dropping)
        {
            dropping = now + 0.1;
            return false;
        }
        if (now < dropping)
            return false;
        drops = isInDrop ? drops + 1 : max(1, drops - 2);
        isInDrop = true;
        dropping = now + 0.1 / sqrt(cast(double) drops);
        if (set.markMs && mark(line[0].frame))
        {
            count.marked++;
            return false;
        }
        return true;
    }

    private void leave(ubyte[] frame, Time now)
    {
        auto at = now + set.delay / 1e3 + (set.jitter ? uniform01(random) * set.jitter / 1e3 : 0);
        if (chance(set.lateShare))
        {
            count.overtaken++;
            return deliver(at + set.lateMs / 1e3, frame);
        }
        if (set.secondMs && turn++ % 2)
            return deliver(at + set.secondMs / 1e3, frame);
        if (set.slot)
            at = ceil(at / (set.slot / 1e3)) * set.slot / 1e3;
        if (set.beacon)
        {
            if (at - heard > set.awake / 1e3)
            {
                count.held++;
                at = ceil(at / (set.beacon / 1e3)) * set.beacon / 1e3;
            }
            heard = max(heard, at);
        }
        orderly = max(orderly, at);
        if (set.deafUs && orderly - taken < set.deafUs / 1e6)
        {
            count.unheard++;
            return lose(frame);
        }
        taken = orderly;
        deliver(orderly, frame);
    }
}
