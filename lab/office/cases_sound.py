"""Healthy links."""

from cases_path import ends
from checks import both, check, filled, missing, nothing_missing, printed
from draw import control
from setups import CURL, END, cable, download, line, make_file, nginx, perl_stream, shaper, stream, upload, ways


def some(least):
    return check(f"at least {least} octets arrive, and nothing is lost", lambda truth, trial: truth["octets"] >= least and not truth["lost_segments"])


@control("slow-line-is-full", "A line of some hundred kilobits a second is full; its queue holds less than 200 ms.", count=2, check=filled(0.8))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 187e3, 742e3), draw.log("rtt_ms", 28, 75), ends(draw)
    path = line(draw, rate, rtt, sender, queue_ms=195, least=4500)
    return {**path, **stream(draw, sender, rate / 8 * 11), "fixed_octets": 1, "congestion": "cubic", "route": {sender: "initcwnd 3"}}


@control("access-line-is-full", "An access line is full.", count=3, check=filled(0.85))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 6.4e6, 17.6e6, 2.3e6), draw.log("rtt_ms", 7, 34), ends(draw)
    path = line(draw, rate, rtt, sender, queue_ms=draw.log("queue_ms", 70, 125))
    return {**path, **stream(draw, sender, rate / 8 * 5)}


@control("fast-access-line-is-full", "A fast access line is full.", count=3, check=filled(0.85))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 54e6, 96e6, 36e6), draw.log("rtt_ms", 3, 19), ends(draw)
    return {**line(draw, rate, rtt, sender, queue_ms=draw.log("queue_ms", 45, 80)), **stream(draw, sender, rate / 8 * 4)}


@control("far-server", "A large file comes from far away, and the line is full.", count=2, check=filled(0.75))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 8.8e6, 23e6), draw.log("rtt_ms", 110, 190), ends(draw)
    return {**line(draw, rate, rtt, sender, queue_ms=150), **stream(draw, sender, rate / 8 * 9), "fixed_octets": 1, "congestion": "cubic"}


@control("office-cable-is-full", "A cable of 100 Mbit/s, or a part of a faster one, is full.", count=3, check=filled(0.85))
def _(draw):
    rate, sender = draw.turn("rate", 98.7e6, 270e6, 470e6), ends(draw)
    return {**cable(draw, rate, sender), **stream(draw, sender, rate / 8 * 2.6), "merges": draw.turn("merges", 0, 1, 1)}


@control("gigabit", "Two hosts at a gigabit.", count=2, check=filled(0.8))
def _(draw):
    sender = ends(draw)
    return {**cable(draw, 942e6, sender, kind="tbf"), **perl_stream(sender, 290e6), "merges": 1, "least_s": 1.4, "fixed_octets": 1}


@control("both-ways", "Both ends send at a time, and the line carries as much both ways (iperf3 --bidir).", count=2, check=filled(0.6))
def _(draw):
    rate, rtt = draw.turn("rate", 12.1e6, 8.6e6), draw.log("rtt_ms", 2, 12)
    path = line(draw, rate, rtt, "A", queue_ms=70, kind="path")
    return {**path, "fills": 1, "server": "exec iperf3 -s -p 5301", "ports": [5301], "client": "iperf3 -c @B -p 5301 --bidir -t 7", "unsized": 1, "opens": "A"}


@control("camera-below-the-line", "Datagrams below the path's rate (iperf, iperf3).", count=3, check=some(100000))
def _(draw):
    rate, rtt = draw.turn("rate", 13.9e6, 61e6, 2.6e6), draw.log("rtt_ms", 1, 40)
    bps = rate * draw.log("share", 0.3, 0.7)
    path = line(draw, rate, rtt, "A")
    size = int(draw.log("size", 700, 1400))
    program = draw.turn("program", "iperf", "iperf3")
    if program == "iperf":
        return {**path, "server": "exec iperf -s -u -p 5001", "client": f"iperf -c @B -u -p 5001 -b {bps:.0f} -l {size} -t 5", "ports": [5001], "unsized": 1}
    return {**path, "server": "exec iperf3 -s -p 5001", "client": f"iperf3 -c @B -u -p 5001 -b {bps:.0f} -l {size} -t 5", "ports": [5001], "unsized": 1}


@control("short-pages", "Somebody reads pages of some files each.", count=2, check=some(20000))
def _(draw):
    rate, rtt = draw.turn("rate", 48e6, 22e6), draw.log("rtt_ms", 6, 18)
    path = line(draw, rate, rtt, "B")
    parts = " ".join(f"http://@B:8080/file.bin?{i}" for i in range(4))
    client = f"for i in 1 2 3; do curl -sS -o /dev/null --parallel --parallel-max 3 {' '.join('-o /dev/null' for _ in range(3))} {parts}; sleep 1.{draw.random.randrange(1, 9)}; done"
    return {**path, "server": nginx(), "ports": [8080], "client": client, "octets": int(draw.log("octets", 5000, 16000)), "unsized": 1, "nat": 0}


@control("benchmark-of-a-web-server", "Apache's benchmark asks a web server nearby for small files over connections that stay open.", count=2, check=some(100000))
def _(draw):
    path = cable(draw, None, "B")
    conf = ("ServerRoot /usr/lib/apache2\\nListen 8088\\nServerName lab\\nPidFile @D/apache.pid\\nErrorLog /dev/null\\nKeepAlive On\\nMaxKeepAliveRequests 0\\nLoadModule mpm_event_module modules/mod_mpm_event.so\\n"
            "LoadModule authz_core_module modules/mod_authz_core.so\\nDocumentRoot @D/www\\nUser www-data\\nGroup www-data\\nDefaultRuntimeDir @D\\n")
    server = make_file("file.bin") + f"printf '{conf}' > @D/apache.conf; exec apache2 -X -f @D/apache.conf"
    return {**path, "snap": 192, "opens": "A", "server": server, "ports": [8088], "octets": int(draw.log("octets", 300, 5000)), "unsized": 1, "least_s": 0.3,
            "client": f"ab -q -k -c {draw.turn('clients', 2, 4)} -n {draw.turn('requests', 6000, 9000)} http://@B:8088/file.bin > /dev/null"}


@control("cache-nearby", "Redis, or memcached, answers on the local network.", count=2, check=some(20000))
def _(draw):
    by = draw.turn("by", "redis", "memcached")
    path = cable(draw, None, "B")
    if by == "redis":
        return {**path, "snap": 192, "opens": "A", "server": "exec redis-server --port 6379 --save '' --dir @D --protected-mode no", "ports": [6379], "unsized": 1, "least_s": 0.4,
                "client": f"redis-benchmark -h @B -q -c 3 -n 9000 -t set,get -d {draw.log('octets', 20, 400):.0f}"}
    return {**path, "snap": 192, "opens": "A", "server": "exec memcached -u nobody -p 11211", "ports": [11211], "unsized": 1, "least_s": 0.4,
            "client": "for j in 1 2 3 4 5 6; do for i in $(seq 1 150); do printf 'set k%d 0 60 20\\r\\n01234567890123456789\\r\\nget k%d\\r\\n' $i $i; done; sleep 0.6; done | nc -q 1 @B 11211 > /dev/null"}


@control("requests-nearby", "A program asks a server nearby for small answers, thousands of times.", count=2, check=some(20000))
def _(draw):
    path = line(draw, 93e6, draw.log("rtt_ms", 0.3, 0.9), "B")
    size, answer = int(draw.log("size", 12, 120)), int(draw.log("answer", 20, 600))
    return {**path, "opens": "A", "server": f"{END} answer port=4840 size={size} answer={answer} nodelay=1", "ports": [4840], "unsized": 1,
            "client": f"{END} ask host=@B port=4840 size={size} answer={answer} count=2600 nodelay=1"}


@control("values-each-second", "A manager asks an agent of SNMP for values each second or so.", count=2, check=some(300))
def _(draw):
    path = line(draw, draw.log("rate", 1e6, 40e6), draw.log("rtt_ms", 1, 140), "B")
    each = draw.log("each_s", 0.6, 1.2)
    return {**path, "opens": "A", "nat": 0, "server": "echo 'rocommunity public' > @D/snmpd.conf; exec snmpd -f -C -c @D/snmpd.conf -Lo -p @D/snmpd.pid udp:161", "ports": [161], "unsized": 1,
            "client": f"for i in $(seq 1 11); do snmpget -v2c -c public @B 1.3.6.1.2.1.1.3.0 1.3.6.1.2.1.1.5.0 1.3.6.1.2.1.4.3.0 > /dev/null; sleep {each}; done"}


@control("telemetry-by-mqtt", "A sensor publishes a value now and then (mosquitto).", count=2, check=some(300))
def _(draw):
    path = line(draw, draw.log("rate", 0.4e6, 40e6), draw.log("rtt_ms", 3, 160), "A")
    each, quality = draw.log("each_s", 0.3, 0.8), draw.turn("quality", 0, 1)
    return {**path, "opens": "A", "server": "printf 'listener 1883 0.0.0.0\\nallow_anonymous true\\nuser root\\n' > @D/mqtt.conf; exec mosquitto -c @D/mqtt.conf", "ports": [1883], "unsized": 1,
            "client": f"(for i in $(seq 1 18); do echo '{{\"t\": 21.'$i', \"rh\": 4'$i'.2, \"n\": '$i'}}'; sleep {each:.2f}; done) | mosquitto_pub -h @B -t plant/7/air -q {quality} -l -i sensor7"}


@control("reports-steadily", "A program reports some octets at a steady interval over a connection that stays open.", count=2, check=some(1000))
def _(draw):
    path = line(draw, draw.turn("rate", 1.9e6, 66e3), draw.log("rtt_ms", 20, 420), "A")
    each = draw.log("each_ms", 380, 620)
    return {**path, "opens": "A", "server": f"exec tclsh @P/talk.tcl serve 4000 {draw.turn('replies', 0, 1)}", "ports": [4000], "unsized": 1,
            "client": f"exec tclsh @P/talk.tcl report @B 4000 {each:.0f} {draw.log('octets', 40, 300):.0f} {int(7e3 / each)}"}


@control("call", "A call: voice in both directions.", count=2, check=some(10000))
def _(draw):
    path = line(draw, draw.log("rate", 0.3e6, 20e6), draw.log("rtt_ms", 8, 90), "A")
    octets, each = draw.turn("octets", 172, 92), draw.turn("each_ms", 20, 30)
    return {**path, "nat": 0, "opens": "A", "server": f"exec lua5.4 @P/voice.lua @A 16384 16386 {octets} {each} 8", "ports": [16386], "unsized": 1,
            "client": f"exec lua5.4 @P/voice.lua @B 16386 16384 {octets} {each} 6.5"}


@control("connections-that-idle", "Connections stay open and hardly say anything, or keep alive only.", count=2, check=check("nothing is lost", lambda truth, trial: not truth["lost_segments"]))
def _(draw):
    path = line(draw, draw.log("rate", 1e6, 40e6), draw.log("rtt_ms", 2, 90), "A")
    return {**path, "opens": "A", "server": "exec tclsh @P/talk.tcl serve 4000 1", "ports": [4000], "unsized": 1, "least_s": 0,
            "client": f"for i in 1 2 3; do tclsh @P/talk.tcl report @B 4000 {draw.random.randrange(3100, 4200)} {draw.random.randrange(20, 90)} 3 & done; wait"}


SSHD = ("mkdir -p /run/sshd; test -f @D/key || (ssh-keygen -q -t ed25519 -N '' -f @D/key; ssh-keygen -q -t ed25519 -N '' -f @D/me; cp @D/me.pub @D/allowed; chmod 600 @D/key @D/me @D/allowed); "
        "exec /usr/sbin/sshd -D -e -p 2222 -f /dev/null -h @D/key -o AuthorizedKeysFile=@D/allowed -o StrictModes=no -o PidFile=none -o UsePAM=no -o PermitRootLogin=yes -o UseDNS=no")
SSH = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i @D/me"


@control("person-at-a-shell", "Somebody types at a shell (ssh).", count=2, check=some(3000))
def _(draw):
    path = line(draw, draw.log("rate", 1e6, 40e6), draw.log("rtt_ms", 2, 70), "B")
    words = draw.turn("words", "ls -l /etc/apt", "uname -a; df -h; uptime")
    keys = "; ".join(f"printf '%s' '{it}'; sleep 0.{draw.random.randrange(9, 32):02d}" for it in words)
    return {**path, "nat": 0, "opens": "A", "server": SSHD, "ports": [2222], "unsized": 1,
            "client": f"sleep 0.2; ({keys}; echo; sleep 0.8; {keys}; echo; sleep 0.7; echo exit; sleep 0.2) | ssh -tt {SSH} -p 2222 root@@B > /dev/null"}


@control("copy-by-ssh", "A file is copied by scp, and the line is full.", count=2, check=filled(0.72))
def _(draw):
    rate, rtt = draw.turn("rate", 9.7e6, 32e6), draw.log("rtt_ms", 3, 14)
    path = line(draw, rate, rtt, "A", queue_ms=70)
    return {**path, "opens": "A", "server": SSHD, "ports": [2222], "octets": int(rate / 8 * 6),
            "client": f"head -c {{octets}} /dev/urandom > @D/data; scp -q -O {SSH} -P 2222 @D/data root@@B:@D/copied"}


@control("mirror-by-rsync", "A folder is mirrored by rsync, and the line is full.", count=2, check=filled(0.7))
def _(draw):
    rate, rtt = draw.turn("rate", 12.9e6, 44e6), draw.log("rtt_ms", 2, 11)
    path = line(draw, rate, rtt, "B", queue_ms=70)
    server = ("mkdir -p @D/www; for i in 1 2 3; do head -c $(({octets} / 3)) /dev/urandom > @D/www/$i; done; printf 'uid = root\\nuse chroot = no\\nreverse lookup = no\\n[data]\\npath = @D/www\\n' > @D/rsync.conf; "
              "exec rsync --daemon --no-detach --port=8730 --config=@D/rsync.conf")
    return {**path, "opens": "A", "server": server, "ports": [8730], "octets": int(rate / 8 * 5), "client": "rsync -a rsync://@B:8730/data/ @D/got/"}


@control("file-by-ftp", "A file is fetched by FTP, and the line is full.", count=2, check=filled(0.7))
def _(draw):
    rate, rtt = draw.turn("rate", 19e6, 5.6e6), draw.log("rtt_ms", 2, 16)
    path = line(draw, rate, rtt, "B", queue_ms=70)
    server = ("mkdir -p @D/ftp /var/run/vsftpd/empty; head -c {octets} /dev/urandom > @D/ftp/data.bin; chmod 755 @D @D/ftp; chmod 644 @D/ftp/data.bin; "
              "printf 'listen=YES\\nlisten_port=2121\\nbackground=NO\\nanonymous_enable=YES\\nanon_root=@D/ftp\\nlocal_enable=NO\\nseccomp_sandbox=NO\\nsecure_chroot_dir=/var/run/vsftpd/empty\\nftp_username=daemon\\n' > @D/ftp.conf; exec vsftpd @D/ftp.conf")
    client = draw.turn("client", "curl -sS -o /dev/null ftp://@B:2121/data.bin", "lftp -e 'get data.bin -o @D/got.bin; quit' ftp://@B:2121")
    return {**path, "nat": 0, "opens": "A", "server": server, "ports": [2121], "octets": int(rate / 8 * 5), "client": client}


@control("several-clients", "Several transfers share a line.", count=2, check=filled(0.8))
def _(draw):
    rate, rtt = draw.turn("rate", 26e6, 71e6), draw.log("rtt_ms", 5, 20)
    path = line(draw, rate, rtt, "B", queue_ms=80)
    return {**path, "opens": "A", "server": nginx(), "ports": [8080], "octets": int(rate / 8 * 5 / 3), "client": f"{CURL} & {CURL} & {CURL} & wait"}


@control("names-are-looked-up", "Names are looked up, and answered at once (dnsmasq).", count=2, check=some(300))
def _(draw):
    path = line(draw, draw.log("rate", 1e6, 40e6), draw.log("rtt_ms", 1, 28), "B")
    hosts = " ".join(f"--address=/host{i}.example/192.0.2.{i}" for i in range(1, 12))
    return {**path, "nat": 0, "opens": "A", "server": f"exec dnsmasq -k --no-resolv --no-hosts {hosts} --conf-file=/dev/null --pid-file=@D/pid", "ports": [53], "unsized": 1,
            "client": f"for i in $(seq 1 9); do dig +short @@B host$i.example > /dev/null; sleep 0.{draw.random.randrange(3, 8)}; done"}


@control("a-loss-or-two", "A download loses a segment or two, which costs hardly anything.", count=2, check=both(missing(1), filled(0.8), check("at most 40 segments are lost", lambda truth, trial: truth["lost_segments"] <= 40)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 14.7e6, 33e6), draw.log("rtt_ms", 4, 11), ends(draw)
    path = line(draw, rate, rtt, sender, queue_ms=90)
    there = ways(sender)[0]
    return {**path, **stream(draw, sender, rate / 8 * 5), "congestion": "cubic", there: {**path[there], "loss": 0.0005}}


@control("deep-but-tolerable-queue", "A queue of less than 200 ms before a full line.", count=2, check=filled(0.85))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 3.9e6, 1.6e6), draw.log("rtt_ms", 18, 50), ends(draw)
    path = line(draw, rate, rtt, sender, queue_ms=draw.log("queue_ms", 140, 180))
    return {**path, **stream(draw, sender, rate / 8 * 6)}


@control("bbr", "The sender has BBR, and the line is full.", count=2, check=filled(0.75))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 24.5e6, 9.3e6), draw.log("rtt_ms", 9, 40), ends(draw)
    path = line(draw, rate, rtt, sender, queue_ms=90)
    return {**path, **stream(draw, sender, rate / 8 * 6), "congestion": "bbr"}


@control("video-by-chunks", "A player fetches a part of a video each second or two, much faster than it plays.", count=2, check=some(100000))
def _(draw):
    rate, rtt = draw.turn("rate", 38e6, 88e6), draw.log("rtt_ms", 5, 22)
    path = line(draw, rate, rtt, "B")
    part = int(rate / 8 * draw.log("part_s", 0.12, 0.25))
    return {**path, "opens": "A", "server": nginx(), "ports": [8080], "octets": part, "unsized": 1,
            "client": f"wget -q -O /dev/null --wait=1.5 {' '.join(f'http://@B:8080/file.bin?{i}' for i in range(5))}"}


@control("files-one-after-another", "A client fetches some files one after another from a server nearby.", count=2, check=filled(0.5))
def _(draw):
    rate = draw.turn("rate", 47e6, 12e6)
    path = line(draw, rate, draw.log("rtt_ms", 0.6, 1.6), "B", queue_ms=60)
    return {**path, "opens": "A", "server": make_file("file.bin") + "printf 'server.document-root = \"@D/www\"\\nserver.port = 8280\\nserver.errorlog = \"/dev/null\"\\n' > @D/l.conf; exec lighttpd -D -f @D/l.conf", "ports": [8280],
            "octets": int(rate / 8 * 0.8), "unsized": 1, "client": f"curl -sS {' '.join('-o /dev/null http://@B:8280/file.bin' for _ in range(6))}"}
