package station

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"linerate/lab/foreign/app"
	"linerate/lab/foreign/path"
)

// End is a station as the generator sees it.
type End struct {
	Port    path.Port
	Address string
	// Namespace in which commands run; empty for a station that is no host.
	Namespace string
	// Net is for the programs of app; nil for a host.
	Net app.Net
	// Dump is the program that captures at the host's own interface; nil if the port is captured.
	Dump     func(file string, snap int) (*Job, error)
	cleanups []func()
	jobs     []*Job
	program  *Job
}

// Job is a program that was started.
type Job struct {
	command *exec.Cmd
	done    chan error
	// Output of a command.
	Output strings.Builder
}

// Wait until the program ends by itself, or kill it.
func (j *Job) Wait(most time.Duration) error {
	select {
	case err := <-j.done:
		j.done <- err
		return err
	case <-time.After(most):
		j.Kill()
		return fmt.Errorf("not done after %v", most)
	}
}

// Kill ends the program and what it started.
func (j *Job) Kill() { j.end(syscall.SIGKILL) }

// Interrupt ends it with SIGINT.
func (j *Job) Interrupt() {
	j.end(syscall.SIGINT)
	select {
	case err := <-j.done:
		j.done <- err
	case <-time.After(2 * time.Second):
		j.Kill()
	}
}

func (j *Job) end(signal syscall.Signal) {
	if j.command != nil && j.command.Process != nil {
		_ = syscall.Kill(-j.command.Process.Pid, signal)
	}
}

// Signal sends a signal to the program.
func (j *Job) Signal(signal syscall.Signal) { j.end(signal) }

func launch(command *exec.Cmd) (*Job, error) {
	j := &Job{command: command, done: make(chan error, 1)}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if command.Stdout == nil {
		command.Stdout = &j.Output
	}
	command.Stderr = &j.Output
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() { j.done <- command.Wait() }()
	return j, nil
}

// Exec starts a command on a host.
func (e *End) Exec(arguments ...string) (*Job, error) {
	if e.Namespace == "" {
		return nil, errors.New("no host")
	}
	command := exec.Command("ip", append([]string{"netns", "exec", e.Namespace}, arguments...)...)
	j, err := launch(command)
	if err == nil {
		e.jobs = append(e.jobs, j)
	}
	return j, err
}

// Start starts a program of package app.
func (e *End) Start(name string, settings ...string) (*Job, error) {
	if e.Net == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return e.Exec(append([]string{self, "app", name}, settings...)...)
	}
	j := &Job{done: make(chan error, 1)}
	go func() { j.done <- app.Run(e.Net, name, app.Parse(settings)) }()
	return j, nil
}

// Program is the process of a station that is a program; nil for others.
func (e *End) Program() *Job { return e.program }

// Close ends the station and everything on it.
func (e *End) Close() {
	for _, j := range e.jobs {
		j.Kill()
	}
	if e.program != nil {
		e.program.Kill()
	}
	e.Port.Close()
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}

// HostOptions change a host.
type HostOptions struct {
	// Veth puts a router before the host, whose own interface segments and checksums like hardware.
	Veth bool
	// AnyInterface captures on all interfaces (Linux cooked).
	AnyInterface bool
	MTU          int
	Sysctl       map[string]string
	// Setup are commands in the namespace; IF is its interface. Router are commands at the router: IF to the host,
	// PATH to the path.
	Setup, Router []string
	IPv6          string
	// Resolver has the lines of resolv.conf.
	Resolver []string
}

// Run executes a command and returns its output in the error.
func Run(arguments ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		out = out[max(0, len(out)-300):]
		return fmt.Errorf("%s: %w: %s", arguments[0], err, out)
	}
	return nil
}

func sequence(lines ...string) error {
	return Run("sh", "-exc", strings.Join(lines, "\n"))
}

// NewHost is a namespace with the system's TCP, attached over a TAP interface.
func NewHost(namespace, address string, prefix int, mac net.HardwareAddr, o HostOptions) (*End, error) {
	e := &End{Address: address, Namespace: namespace}
	router := namespace + "r"
	tap := "t" + namespace[len(namespace)-3:]
	port, err := path.Tap(tap)
	if err != nil {
		return nil, err
	}
	e.Port = port
	e.cleanups = append(e.cleanups, func() {
		_ = Run("ip", "netns", "del", namespace)
		if o.Veth {
			_ = Run("ip", "netns", "del", router)
		}
		_ = os.RemoveAll("/etc/netns/" + namespace)
	})
	mtu := o.MTU
	if mtu == 0 {
		mtu = 1500
	}
	on := func(ns, command string) string { return "ip netns exec " + ns + " " + command }
	lines := []string{"ip netns add " + namespace, on(namespace, "ip link set lo up")}
	device := tap
	var v6 = "1"
	if o.IPv6 != "" {
		v6 = "0"
	}
	sysctls := []string{"net.ipv6.conf.all.disable_ipv6=" + v6, "net.ipv6.conf.default.disable_ipv6=" + v6}
	for key, value := range o.Sysctl {
		sysctls = append(sysctls, fmt.Sprintf("%s='%s'", key, value))
	}
	lines = append(lines, on(namespace, "sysctl -qw "+strings.Join(sysctls, " ")))
	if o.Veth {
		device = "eth0"
		lines = append(lines, "ip netns add "+router,
			fmt.Sprintf("ip link add eth0 netns %s type veth peer name v1 netns %s", namespace, router),
			fmt.Sprintf("ip link set %s netns %s", tap, router),
			on(router, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.disable_ipv6=1"),
			on(router, fmt.Sprintf("ip link set %s address %s mtu %d up", tap, mac, mtu)),
			on(router, "ip link set v1 up"),
			on(router, "ip addr add 169.254.1.1/32 dev v1"),
			on(router, fmt.Sprintf("ip route add %s/32 dev v1", address)),
			on(router, fmt.Sprintf("ip route add default dev %s", tap)),
			on(router, fmt.Sprintf("sysctl -qw net.ipv4.conf.%s.proxy_arp=1 net.ipv4.conf.%s.rp_filter=0 net.ipv4.conf.v1.rp_filter=0 net.ipv4.conf.all.rp_filter=0", tap, tap)),
			on(router, fmt.Sprintf("ip addr add %s/32 dev %s", routerAddress(address, namespace), tap)),
			on(namespace, fmt.Sprintf("ip link set eth0 mtu %d up", mtu)),
			on(namespace, fmt.Sprintf("ip addr add %s/32 dev eth0", address)),
			on(namespace, "ip route add 169.254.1.1 dev eth0"),
			on(namespace, fmt.Sprintf("ip route add default via 169.254.1.1 dev eth0 src %s", address)))
	} else {
		lines = append(lines, fmt.Sprintf("ip link set %s netns %s", tap, namespace),
			on(namespace, fmt.Sprintf("ip link set %s address %s mtu %d txqueuelen 2000 up", tap, mac, mtu)),
			on(namespace, fmt.Sprintf("ip addr add %s/%d dev %s", address, prefix, tap)))
		if o.IPv6 != "" {
			lines = append(lines, on(namespace, fmt.Sprintf("ip addr add %s/64 dev %s nodad", o.IPv6, tap)))
		}
	}
	for _, command := range o.Setup {
		lines = append(lines, on(namespace, strings.ReplaceAll(command, "IF", device)))
	}
	for _, command := range o.Router {
		command = strings.ReplaceAll(strings.ReplaceAll(command, "PATH", tap), "IF", "v1")
		lines = append(lines, on(router, command))
	}
	if len(o.Resolver) > 0 {
		if err := os.MkdirAll("/etc/netns/"+namespace, 0o755); err != nil {
			return e, err
		}
		text := strings.Join(o.Resolver, "\n") + "\n"
		if err := os.WriteFile("/etc/netns/"+namespace+"/resolv.conf", []byte(text), 0o644); err != nil {
			return e, err
		}
	}
	if err := sequence(lines...); err != nil {
		return e, err
	}
	if o.Veth {
		where := device
		if o.AnyInterface {
			where = "any"
		}
		e.Dump = func(file string, snap int) (*Job, error) { return e.dump(where, file, snap) }
	}
	return e, nil
}

// routerAddress is .253 or .254 of the subnet: both ends may have a router.
func routerAddress(address, namespace string) string {
	ip := net.ParseIP(address).To4()
	return net.IPv4(ip[0], ip[1], ip[2], 253+namespace[len(namespace)-1]%2).String()
}

func (e *End) dump(device, file string, snap int) (*Job, error) {
	j, err := e.Exec("tcpdump", "-Z", "root", "-i", device, "-s", fmt.Sprint(snap), "-B", "16384", "--immediate-mode",
		"-U", "-w", file)
	if err != nil {
		return nil, err
	}
	for range 100 {
		if _, err := os.Stat(file); err == nil {
			time.Sleep(30 * time.Millisecond)
			return j, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return j, errors.New("tcpdump did not begin")
}

// NewProgram is a station that is a process with frames over descriptor 3, which is its standard input, too.
func NewProgram(address string, arguments ...string) (*End, error) {
	port, file, err := path.Pair()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Stdin, command.ExtraFiles = file, []*os.File{file}
	e := &End{Port: port, Address: address}
	e.program, err = launch(command)
	return e, err
}

// NewSlirp is QEMU's user network: it has an address and forwards to the loopback interface of the namespace.
func NewSlirp(namespace, network, address string) (*End, error) {
	if err := sequence("ip netns add "+namespace, "ip netns exec "+namespace+" ip link set lo up"); err != nil {
		return nil, err
	}
	e, err := NewProgram(address, "ip", "netns", "exec", namespace,
		"qemu-system-arm", "-M", "none", "-nodefaults", "-display", "none", "-monitor", "none",
		"-netdev", fmt.Sprintf("user,id=user,net=%s,host=%s", network, address),
		"-netdev", "dgram,id=link,local.type=fd,local.str=3",
		"-netdev", "hubport,id=first,hubid=0,netdev=user",
		"-netdev", "hubport,id=second,hubid=0,netdev=link")
	if err != nil {
		return nil, err
	}
	e.Namespace = namespace
	e.cleanups = append(e.cleanups, func() { _ = Run("ip", "netns", "del", namespace) })
	time.Sleep(400 * time.Millisecond)
	return e, nil
}

// FromNetstack wraps a netstack.
func FromNetstack(address string, n *Netstack) *End { return &End{Port: n, Address: address, Net: n} }

// FromDevice wraps a device.
func FromDevice(address string, d *Device) *End { return &End{Port: d, Address: address} }
