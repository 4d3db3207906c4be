/* Programs of devices and their partners: kit KEY=VALUE ...  do=send|recv|ask|answer|shoot|hear|names; to=HOST or none (listens); port=.
   Prints a JSON line at its end. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int argc_;
static char **argv_;
static char block[1 << 20];
static double waited, octets;
static long messages, failures;

static const char *text(const char *key, const char *other) {
    size_t n = strlen(key);
    for (int i = 1; i < argc_; i++)
        if (!strncmp(argv_[i], key, n) && argv_[i][n] == '=') return argv_[i] + n + 1;
    return other;
}
static double number(const char *key, double other) { const char *it = text(key, NULL); return it ? atof(it) : other; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void rest(double seconds) {
    if (seconds <= 0) return;
    struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t) && errno == EINTR) ;
}
static void report(void) {
    printf("{\"program\": \"%s\", \"octets\": %.0f, \"messages\": %ld, \"failures\": %ld, \"waits_s\": %.3f}\n", text("do", "?"), octets, messages, failures, waited);
    fflush(stdout);
}
static void on_term(int s) { (void)s; report(); _exit(0); }

static void set(int s) {
    int one = 1, n;
    if ((n = number("sndbuf", 0))) setsockopt(s, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
    if ((n = number("rcvbuf", 0))) setsockopt(s, SOL_SOCKET, SO_RCVBUF, &n, sizeof n);
    if ((n = number("clamp", 0))) setsockopt(s, IPPROTO_TCP, TCP_WINDOW_CLAMP, &n, sizeof n);
    if ((n = number("mss", 0))) setsockopt(s, IPPROTO_TCP, TCP_MAXSEG, &n, sizeof n);
    if (number("nodelay", 0)) setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if ((n = number("notsent", 0))) setsockopt(s, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &n, sizeof n);
    if ((n = number("pacing", 0))) { unsigned v = n; setsockopt(s, SOL_SOCKET, SO_MAX_PACING_RATE, &v, sizeof v); }
    if (number("keepalive", 0)) {
        n = number("keepalive", 0);
        setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        setsockopt(s, IPPROTO_TCP, TCP_KEEPIDLE, &n, sizeof n);
        setsockopt(s, IPPROTO_TCP, TCP_KEEPINTVL, &n, sizeof n);
    }
}
static struct sockaddr_in place(const char *host, int port) {
    struct sockaddr_in it = {.sin_family = AF_INET, .sin_port = htons(port)};
    it.sin_addr.s_addr = host ? inet_addr(host) : INADDR_ANY;
    return it;
}
static int reach(void) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    set(s);
    struct sockaddr_in it = place(text("to", NULL), number("port", 0));
    if (connect(s, (void *)&it, sizeof it)) { failures++; close(s); return -1; }
    return s;
}
static int full(int s, size_t n) {          /* reads n octets */
    size_t got = 0;
    while (got < n) {
        ssize_t k = read(s, block, n - got < sizeof block ? n - got : sizeof block);
        if (k <= 0) return 0;
        got += k;
    }
    octets += n;
    return 1;
}
static int put(int s, size_t n) {           /* writes n octets in pieces of `piece` */
    size_t piece = number("piece", 1 << 16);
    double gap = number("piece_ms", 0) / 1e3;
    while (n) {
        size_t k = n < piece ? n : piece;
        ssize_t done = write(s, block, k);
        if (done <= 0) return 0;
        n -= done;
        if (n) rest(gap);
    }
    return 1;
}
static double about(double ms) {            /* a time of people: from half of it to twice */
    double spread = number("spread", 0);
    return ms / 1e3 * (1 + spread * (2.0 * random() / RAND_MAX - 1));
}
static void send_all(int s) {
    double left = number("octets", 1e6), every = number("every_ms", 0) / 1e3, seconds = number("seconds", 0), stall = number("stall_ms", 0) / 1e3, begun = now();
    size_t chunk = number("chunk", 65536);
    double per_stall = number("stall_octets", 0), since = 0, next = now();
    while (left > 0 && (!seconds || now() - begun < seconds)) {
        size_t k = left < chunk ? left : chunk;
        if (!put(s, k)) { failures++; break; }
        left -= k; octets += k; messages++; since += k;
        if (every) {
            next += about(every * 1e3);
            if (next > now()) { waited += next - now(); rest(next - now()); } else if (!number("clock", 0)) next = now();
        }
        if (per_stall && since >= per_stall && left > 0) { since = 0; waited += stall; rest(stall); }
    }
    shutdown(s, SHUT_WR);
    while (read(s, block, sizeof block) > 0) ;
}
static void recv_all(int s) {
    size_t chunk = number("chunk", 65536);
    double every = number("every_ms", 0) / 1e3, per = number("stall_octets", 0), stall = number("stall_ms", 0) / 1e3, since = 0;
    rest(number("first_ms", 0) / 1e3);
    for (;;) {
        ssize_t k = read(s, block, chunk < sizeof block ? chunk : sizeof block);
        if (k <= 0) break;
        octets += k; since += k;
        if (every) { waited += every; rest(every); }
        if (per && since >= per) { since = 0; waited += stall; rest(stall); }
    }
    shutdown(s, SHUT_WR);
}
static void ask(void) {
    long count = number("count", 10), burst = number("burst", 1);
    size_t size = number("size", 64), answer = number("answer", 200), head = number("head", 0);
    double think = number("think_ms", 0);
    int s = -1, each = number("each", 0);
    for (long i = 0; i < count; i++) {
        if (s < 0 && (s = reach()) < 0) { rest(0.5); continue; }
        block[0] = 'Q';
        if (head) write(s, block, head);
        if (!put(s, size - head) || !full(s, answer)) { failures++; close(s); s = -1; continue; }
        messages++;
        if (each) { close(s); s = -1; }
        if (think && (i + 1) % burst == 0 && i + 1 < count) { double t = about(think); waited += t; rest(t); }
    }
    if (s >= 0) close(s);
}
static void answer(int s) {
    size_t size = number("size", 64), n = number("answer", 200), head = number("ahead", 0);
    double think = number("think_ms", 0);
    long every = number("every", 1);
    while (full(s, size)) {
        messages++;
        if (think && messages % every == 0) { double t = about(think); waited += t; rest(t); }
        if (head) write(s, block, head);
        if (!put(s, n - head)) break;
    }
}
static void datagrams(const char *what) {
    int s = socket(AF_INET, SOCK_DGRAM, 0), n = 1 << 20, one = 1;
    setsockopt(s, SOL_SOCKET, SO_BROADCAST, &one, sizeof one);
    set(s);
    const char *to = text("to", NULL);
    struct sockaddr_in it = place(to, number("port", 0)), from;
    socklen_t len;
    size_t size = number("size", 1000);
    if (!strcmp(what, "shoot")) {
        n = 4 << 20; setsockopt(s, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
        double gap = size * 8 / number("rate", 1e6), end = now() + number("seconds", 5), next = now(), frame = number("frame", 1);
        while (now() < end) {
            for (int i = 0; i < frame; i++) if (sendto(s, block, size, 0, (void *)&it, sizeof it) > 0) { octets += size; messages++; }
            next += gap * frame;
            rest(next - now());
        }
    } else if (!strcmp(what, "poll")) {      /* asks one by one, again after wait_ms */
        struct timeval t = {1, 0};
        long count = number("count", 10);
        double think = number("think_ms", 0);
        for (long i = 0; i < count; i++) {
            int tries = number("tries", 3);
            double wait = number("wait_ms", 1000) / 1e3;
            while (tries--) {
                t.tv_sec = wait; t.tv_usec = (wait - t.tv_sec) * 1e6; wait *= number("grow", 1);
                setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
                memcpy(block, &i, sizeof i);
                sendto(s, block, size, 0, (void *)&it, sizeof it);
                ssize_t k;
                while ((k = recv(s, block, sizeof block, 0)) > 0 && memcmp(block, &i, sizeof i)) ;
                if (k > 0) { messages++; octets += k; break; }
                failures++;
            }
            if (think) { double w = about(think); waited += w; rest(w); }
        }
    } else {
        bind(s, (void *)&it, sizeof it);
        double think = number("think_ms", 0);
        for (;;) {
            len = sizeof from;
            ssize_t k = recvfrom(s, block, sizeof block, 0, (void *)&from, &len);
            if (k <= 0) break;
            octets += k; messages++;
            if (!strcmp(what, "reply")) {
                if (think) { double w = about(think); waited += w; rest(w); }
                sendto(s, block, number("answer", 100), 0, (void *)&from, len);
            } else if (number("slow_us", 0)) rest(number("slow_us", 0) / 1e6);
        }
    }
}
static void with(int s) {
    const char *what = text("do", "recv");
    if (!strcmp(what, "send")) send_all(s);
    else if (!strcmp(what, "recv")) recv_all(s);
    else answer(s);
    close(s);
}
int main(int argc, char **argv) {
    argc_ = argc; argv_ = argv;
    srandom(number("seed", 7));
    signal(SIGTERM, on_term); signal(SIGPIPE, SIG_IGN);
    memset(block, 'v', sizeof block);
    const char *what = text("do", "recv");
    if (strchr("sph", what[0]) && (!strcmp(what, "shoot") || !strcmp(what, "hear") || !strcmp(what, "poll"))) datagrams(what);
    else if (!strcmp(what, "reply")) datagrams(what);
    else if (!strcmp(what, "ask")) ask();
    else if (text("to", NULL)) {
        long times = number("times", 1);
        for (long i = 0; i < times; i++) {
            int s = reach();
            if (s >= 0) with(s);
            if (i + 1 < times) rest(number("between_ms", 0) / 1e3);
        }
    } else {
        int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        set(s);
        struct sockaddr_in it = place(NULL, number("port", 0));
        if (bind(s, (void *)&it, sizeof it)) { perror("bind"); return 1; }
        listen(s, number("backlog", 64));
        rest(number("accept_late_ms", 0) / 1e3);
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
            int c = accept(s, NULL, NULL);
            if (c < 0) continue;
            if (number("accept_ms", 0)) rest(number("accept_ms", 0) / 1e3);
            if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGTERM); close(s); if (number("nodelay", 0)) setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); with(c); report(); _exit(0); }
            close(c);
        }
    }
    report();
    return failures > 0 && !messages && !octets;
}
