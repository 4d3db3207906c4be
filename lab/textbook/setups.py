"""Lines, programs of the ends, checks."""

from checks import check

SEED = "textbook 1"
JAVA = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -cp @P/classes Ends"


def line(draw, rate, rtt, queue_ms=None, packets=None, back=None, more=None):
    """A path whose rate is the same in both directions, or `back` on the way back; `rtt` in ms, without its queue."""
    half = draw.random.uniform(0.4, 0.6)
    forward = {"rate": rate, "delay": rtt * half, **({"queue": packets} if packets else {"queueMs": queue_ms or max(60, 2 * rtt)}), **(more or {})}
    return {"rate": rate, "forward": forward,
            "back": {"rate": back or rate, "delay": rtt * (1 - half), "queueMs": 400}}


def ends(draw, key="sender_is"):
    """The end that sends: A opens, so B is a server that sends, or A uploads."""
    return draw.turn(key, *draw.random.sample(("B", "A"), 2))


def java_stream(sender, source="", sink="", octets=0, opener="A"):
    """A stream from `sender`; A connects."""
    serving, asking = (("source", "sink") if sender == "B" else ("sink", "source"))
    words = {"source": f"source octets={{octets}} {source}", "sink": f"sink {sink}"}
    return {"sender": sender, "opens": "A", "server": f"{JAVA} {words[serving]} port=5201", "ports": [5201],
            "client": f"{JAVA} {words[asking]} host=@B port=5201", "octets": octets}


def apache(draw, client, octets, more="", name="file.bin"):
    """Debian's Apache at B with a file of so many octets."""
    text = f"""head -c {{octets}} /dev/urandom > @D/{name}; cat > @D/apache.conf <<END
ServerRoot @D
ServerName board
PidFile @D/pid
Listen 80
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
DocumentRoot @D
ErrorLog @D/errors
ServerLimit 2
ThreadsPerChild 16
MaxRequestWorkers 32
User www-data
Group www-data
{more}
END
exec apache2 -f @D/apache.conf -DFOREGROUND"""
    return {"sender": "B", "opens": "A", "server": text, "ports": [80], "client": client, "octets": octets}


def curl(name="file.bin", more=""):
    return f"curl -sS {more} -o /dev/null http://@B/{name} -w '{{\"fetched\": %{{size_download}}, \"seconds\": %{{time_total}}}}\\n'"


def ftp(draw, octets):
    text = f"""head -c {{octets}} /dev/urandom > @D/file.bin; cat > @D/ftp.conf <<END
ServerName board
ServerType standalone
DefaultAddress @B
Port 21
User nobody
Group nogroup
UseReverseDNS off
WtmpLog none
TransferLog none
ScoreboardFile @D/scores
PidFile @D/pid
AuthPAM off
UseFtpUsers off
<Anonymous @D>
  User nobody
  Group nogroup
  UserAlias anonymous nobody
  RequireValidShell off
</Anonymous>
END
exec proftpd -n -q -c @D/ftp.conf"""
    return {"sender": "B", "opens": "A", "server": text, "ports": [21], "octets": octets,
            "client": "curl -sS -o /dev/null ftp://@B/file.bin -w '{\"fetched\": %{size_download}}\\n'"}


def php(script, client):
    text = f"""mkdir -p @D/web; cat > @D/web/index.php <<'END'
<?php {script}
END
PHP_CLI_SERVER_WORKERS=3 exec php -S @B:8080 -t @D/web"""
    return {"sender": "B", "opens": "A", "server": text, "ports": [8080], "client": client}


def smb(octets):
    text = f"""head -c {{octets}} /dev/urandom > @D/file.bin; mkdir -p @D/smb; cat > @D/smb.conf <<END
[global]
  interfaces = @B
  bind interfaces only = yes
  private dir = @D/smb
  lock directory = @D/smb
  state directory = @D/smb
  cache directory = @D/smb
  pid directory = @D/smb
  ncalrpc dir = @D/smb/rpc
  disable spoolss = yes
  load printers = no
  map to guest = Bad User
  smb ports = 445
[files]
  path = @D
  guest ok = yes
  read only = yes
END
exec smbd -F --no-process-group -s @D/smb.conf -l @D/smb"""
    return {"sender": "B", "opens": "A", "server": text, "ports": [445], "octets": octets,
            "client": "cd @D && smbclient //@B/files -N -d 0 -c 'get file.bin /dev/null' 2>&1 | tail -2"}


def postgres(client):
    """A cluster of its own in the folder of the run."""
    text = """mkdir -p @D/pg && chown postgres @D/pg && chmod 755 @D && cd @D/pg && S="setpriv --reuid postgres --regid postgres --clear-groups"
B=/usr/lib/postgresql/15/bin; $S $B/initdb -D @D/pg/data -A trust -N >/dev/null 2>&1; echo "host all all 0.0.0.0/0 trust" >> @D/pg/data/pg_hba.conf
exec $S $B/postgres -D @D/pg/data -c listen_addresses=@B -c unix_socket_directories=@D/pg -c fsync=off -c ssl=off"""
    return {"sender": "B", "opens": "A", "server": text, "ports": [5432], "client": client}


def counted(way, key, least):
    return check(f"the path counts {key} of at least {least} ({way})", lambda truth, trial: truth["path"][way][key] >= least)


def waits(least_ms):
    return check(f"frames wait for up to {least_ms} ms in the queue", lambda truth, trial: truth["path"]["forward"]["waitMsMost"] >= least_ms)


def limited(share, name):
    """The kernel's account of the sending socket: limited for this share of the time that it had something to send."""
    return check(f"the sender's socket is {name} for at least {share:.0%} of its busy time", lambda truth, trial: truth["path"]["socket"].get(
        name, 0) >= share * truth["path"]["socket"].get("busy", 1e9))


def all_answered(least):
    return check(f"at least {least} requests are answered", lambda truth, trial: any(it.get("answered", 0) >= least for it in truth["path"]["programs"]))


def on_time(share=0.97):
    return check(f"payload passes at {share:.0%} of its own rate at least", lambda truth, trial: truth["goodput_bits_per_s"] >= share * trial["own_rate"])
