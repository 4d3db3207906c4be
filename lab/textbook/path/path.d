/// Passes frames between two TAP interfaces that it creates, and does to them what a path does: `path LEFT RIGHT SEED SETTING=VALUE ...`,
/// where SETTING is one of `way.Settings`, after `right.` (from LEFT to RIGHT) or `left.`. Prints counters when it is told to end.
module path;

import core.stdc.signal, core.stdc.string, core.sys.posix.fcntl, core.sys.posix.sys.ioctl, core.sys.posix.poll,
    core.sys.posix.signal, core.time, core.sys.posix.time;
import std.algorithm, std.array, std.container.binaryheap, std.conv, std.stdio, std.string;
import unistd = core.sys.posix.unistd;
import way;

extern (C) int ppoll(pollfd* fds, nfds_t nfds, const timespec* timeout, const sigset_t* mask) nothrow @nogc;
extern (C) int prctl(int option, ulong a, ulong b, ulong c, ulong d) nothrow @nogc;

__gshared bool hasEnded;

extern (C) void end(int) nothrow @nogc
{
    hasEnded = true;
}

int openTap(string name)
{
    enum SET = 0x400454ca;
    struct Request
    {
        char[16] name = 0;
        short flags = 0x1002; // TAP, without a header
        ubyte[22] rest;
    }

    Request request;
    request.name[0 .. name.length] = name;
    const file = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (file < 0 || ioctl(file, SET, &request) < 0)
        throw new Exception("no interface " ~ name);
    return file;
}

Time now()
{
    timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec + it.tv_nsec / 1e9;
}

struct Event
{
    Time at;
    long order;
    void delegate() run;
}

long order;
BinaryHeap!(Event[], (a, b) => a.at > b.at || (a.at == b.at && a.order > b.order)) heap;

void bind(Way it, int target)
{
    it.later = (at, run) { heap.insert(Event(at, order++, run)); };
    it.deliver = (at, frame) { heap.insert(Event(at, order++, { unistd.write(target, frame.ptr, frame.length); })); };
}

void apply(Way[string] ways, string word)
{
    const parts = word.split("="), names = parts[0].split(".");
    auto set = &ways[names[0]].set;
    switch (names[1])
    {
        static foreach (name; __traits(allMembers, Settings))
        {
    case name:
            __traits(getMember, *set, name) = parts[1].to!double;
            return;
        }
    default:
        throw new Exception("no setting " ~ word);
    }
}

void report(Way[string] ways, double[] late)
{
    string[] all;
    foreach (name; ["right", "left"])
    {
        string[] parts;
        static foreach (it; __traits(allMembers, Counters))
            parts ~= format(`"%s": %s`, it, __traits(getMember, ways[name].count, it));
        all ~= format(`"%s": {%-(%s, %)}`, name, parts);
    }
    late.sort();
    const most = late.length ? late[$ - 1] : 0, usual = late.length ? late[$ * 99 / 100] : 0;
    writefln(`{%-(%s, %), "late_ms_p99": %.3f, "late_ms_max": %.3f}`, all, 1e3 * usual, 1e3 * most);
    stdout.flush();
}

void main(string[] words)
{
    signal(SIGTERM, &end);
    signal(SIGINT, &end);
    prctl(29, 1000, 0, 0, 0); // timers to the microsecond
    const seed = words[3].to!uint;
    heap.acquire(new Event[4096], 0);
    Way[string] ways = ["right": new Way(seed), "left": new Way(seed + 1)];
    ways["right"].other = ways["left"];
    ways["left"].other = ways["right"];
    foreach (word; words[4 .. $])
        apply(ways, word);
    int[2] taps = [openTap(words[1]), openTap(words[2])];
    double[] late;
    bind(ways["right"], taps[1]);
    bind(ways["left"], taps[0]);
    writeln("ready");
    stdout.flush();
    ubyte[65536] buffer;
    pollfd[2] files = [pollfd(taps[0], POLLIN), pollfd(taps[1], POLLIN)];
    while (!hasEnded)
    {
        auto wait = heap.empty ? 0.2 : max(0, heap.front.at - now());
        auto span = timespec(cast(time_t) wait, cast(long)((wait - cast(long) wait) * 1e9));
        ppoll(files.ptr, 2, &span, null);
        foreach (index, name; ["right", "left"])
            foreach (_; 0 .. 64)
            {
                const octets = unistd.read(taps[index], buffer.ptr, buffer.length);
                if (octets <= 0)
                    break;
                ways[name].take(buffer[0 .. octets].dup, now());
            }
        auto time = now();
        while (!heap.empty && heap.front.at <= time)
        {
            auto event = heap.front;
            heap.removeFront();
            late ~= time - event.at;
            event.run();
            time = now();
        }
    }
    report(ways, late);
}
