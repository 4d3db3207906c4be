"""Parts of trials: devices, and their transfers with a host that runs Linux."""

from checks import check
from hops import GATE
from setups import NGINX

SEED = "boards and meters with stacks of their own, drawn for the ninth held-out set"


def seen(name, least=None, most=None):
    """What `facts` counts in the sender's capture."""
    text = f"the sender's capture counts {name} of {'at least ' + str(least) if most is None else 'at most ' + str(most)}"
    return check(text, lambda truth, trial: (least is None or truth["path"]["seen"][name] >= least) and (most is None or truth["path"]["seen"][name] <= most))


def in_flight_at_most(octets):
    return seen("most_in_flight", most=octets)


def device(stack, words, at="B"):
    """A command: the stack `lwip-BUILD`, `uip-OCTETS`, `picotcp`, `smoltcp` or `netstack` on the TAP interface of this end."""
    peer = "A" if at == "B" else "B"
    before = "PRECONFIGURED_TAPIF=tap0 " if stack.startswith("lwip") else ""
    return f"{before}exec /tmp/stacks/{stack} {words} ip=@{at} gate={GATE[at]} peer=@{peer} tap=tap0"


def to_device(rate, stack, program, seconds=2.6, words="", options=""):
    """The host sends to the device: iperf to lwIP's own lwiperf, a file posted to lwIP's httpd, or socat or nc to a program that reads."""
    it = {"sender": "A", "octets": max(2_000, int(rate / 8 * seconds))}
    if program == "lwiperf":
        return {**it, "servers": [("B", device(stack, f"role=lwiperf {words}"))], "client": f"iperf -c @B -n @N {options}"}
    if program == "iperf":
        return {**it, "servers": [("B", device(stack, f"role=sink port=5001 {words}"))], "client": f"iperf -c @B -n @N {options}"}
    if program == "post":
        return {**it, "servers": [("B", device(stack, f"role=httpd octets=10 {words}"))],
                "client": f"head -c @N /dev/zero > @D/image; curl -s -o /dev/null {options} -H Expect: --data-binary @@D/image http://@B/flash"}
    tool = {"nc": "nc -N @B 9000", "socat": "socat -u STDIN TCP:@B:9000"}[program]
    return {**it, "servers": [("B", device(stack, f"role=sink port=9000 {words}"))], "client": f"head -c @N /dev/zero | {tool} {options}"}


def from_device(rate, stack, program, seconds=2.6, words="", options=""):
    """The device sends to the host: lwIP's or uIP's web server and curl, wget, lwIP's lwiperf and iperf, or a program that writes, and nc."""
    it = {"sender": "B", "octets": max(2_000, int(rate / 8 * seconds))}
    if program in ("curl", "wget"):
        role = "role=httpd" if stack.startswith("lwip") else ""
        fetch = {"curl": f"curl -s -o /dev/null {options} http://@B/data", "wget": f"wget -q -O /dev/null {options} http://@B/data"}[program]
        return {**it, "servers": [("B", device(stack, f"{role} octets=@N {words}"))], "client": fetch}
    if program == "nc":
        return {**it, "servers": [("B", device(stack, f"role=source port=9000 octets=@N {words}"))], "client": f"timeout 20 nc -d @B 9000 {options} > /dev/null"}
    raise KeyError(program)


def served(octets):
    """nginx at the host, for a device that fetches."""
    return {"files": {"nginx.conf": NGINX.replace("@B", "@A")}, "start": f"truncate -s {octets} @D/data; exec nginx -p @D -c @D/nginx.conf"}
