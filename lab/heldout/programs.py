"""Commands that the cases have in common."""

from pathlib import Path

FILES = Path("/tmp/heldout-files")
TIMES = '{"octets": %{size_download}, "seconds": %{time_total}}\\n'


def file_of(octets):
    """A file of this size for web servers."""
    FILES.mkdir(exist_ok=True)
    file = FILES / f"{octets}.bin"
    if not file.exists():
        with open(file, "wb") as it:
            it.truncate(octets)
    return file.name


def http_server():
    FILES.mkdir(exist_ok=True)
    return ("B", ["python3", "-m", "http.server", "8000", "--bind", "@B", "--directory", str(FILES),
                  "--protocol", "HTTP/1.1"])


def curl(url):
    return ("A", ["curl", "-s", "--max-time", "20", "-o", "/dev/null", "-w", TIMES, url])


def fetch_each(url, times, pause=0.0):
    """curl once per transfer: a connection each."""
    command = f"curl -s --max-time 20 -o /dev/null -w '{TIMES}' {url}"
    return ("A", ["sh", "-c", f"for i in $(seq {times}); do {command}; sleep {pause}; done"])


def wget(url, octets):
    """The same with wget, timed from outside."""
    return ("A", ["sh", "-c", f"from=$(date +%s%N); wget -q -t 1 -T 20 -O /dev/null {url}; to=$(date +%s%N); "
                  f"echo \"{{\\\"octets\\\": {octets}, \\\"seconds\\\": $(( (to - from) / 1000000 ))e-3}}\""])


def iperf3_server(end="B"):
    return (end, ["iperf3", "-s", "-1"])


def iperf3(*options, seconds=5):
    return ("A", ["iperf3", "-c", "@B", "-J", "-t", f"{seconds:g}", *map(str, options)])


def iperf_server(*options):
    return ("B", ["iperf", "-s", *map(str, options)])


def iperf(*options, seconds=5):
    return ("A", ["iperf", "-c", "@B", "-y", "C", "-t", f"{seconds:g}", *map(str, options)])


def sink(**settings):
    return ("B", ["app", "sink", *values(settings)])


def send(octets, **settings):
    return ("A", ["app", "send", "host=@B", f"octets={octets:.0f}", *values(settings)])


def values(settings):
    return [f"{name.rstrip('_')}={value}" for name, value in settings.items()]


def bulk(rate, seconds, least=2e5):
    """Octets for so many seconds at this rate."""
    return max(least, rate * seconds / 8)
