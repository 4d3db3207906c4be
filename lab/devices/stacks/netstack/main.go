// A device with gVisor's netstack on a TAP interface, as in its samples tun_tcp_echo and tun_tcp_connect. Arguments are key=value:
// tap, ip, gate, role (sink, source, answer), port, octets, request, answer, receive and send (buffers in octets), sack=0.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

var words = map[string]string{"tap": "tap0", "role": "sink", "port": "5001", "octets": "100000"}

func number(key string) int {
	n, _ := strconv.Atoi(words[key])
	return n
}

func address(key string) tcpip.Address {
	return tcpip.AddrFromSlice(net.ParseIP(words[key]).To4())
}

func serve(c net.Conn) {
	defer c.Close()
	switch words["role"] {
	case "source":
		n, _ := c.Write(make([]byte, number("octets")))
		fmt.Printf("{\"written\": %d}\n", n)
	case "answer":
		request, answer := make([]byte, number("request")), make([]byte, number("answer"))
		for {
			if _, err := io.ReadFull(c, request); err != nil {
				return
			}
			c.Write(answer)
		}
	default:
		n, _ := io.Copy(io.Discard, c)
		fmt.Printf("{\"taken\": %d}\n", n)
	}
}

func fail(err any) {
	fmt.Println(err)
	os.Exit(1)
}

func main() {
	for _, it := range os.Args[1:] {
		key, value, _ := strings.Cut(it, "=")
		words[key] = value
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, icmp.NewProtocol4},
	})
	fd, err := tun.OpenTAP(words["tap"])
	if err != nil {
		fail(err)
	}
	link, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: 1500, EthernetHeader: true, Address: "\x02\x67\x56\x00\x00\x01"})
	if err != nil {
		fail(err)
	}
	if err := s.CreateNIC(1, link); err != nil {
		fail(err)
	}
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{Address: address("ip"), PrefixLen: 24}}
	if err := s.AddProtocolAddress(1, own, stack.AddressProperties{}); err != nil {
		fail(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: own.AddressWithPrefix.Subnet(), NIC: 1}, {Destination: header.IPv4EmptySubnet, Gateway: address("gate"), NIC: 1}})
	sack := tcpip.TCPSACKEnabled(words["sack"] != "0")
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)
	if n := number("send"); n > 0 {
		size := tcpip.TCPSendBufferSizeRangeOption{Min: 1024, Default: n, Max: n}
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &size)
	}
	moderate := tcpip.TCPModerateReceiveBufferOption(words["receive"] == "")
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &moderate)
	if n := number("receive"); n > 0 {
		size := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1024, Default: n, Max: n}
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &size)
	}
	listener, err := gonet.ListenTCP(s, tcpip.FullAddress{NIC: 1, Port: uint16(number("port"))}, ipv4.ProtocolNumber)
	if err != nil {
		fail(err)
	}
	for {
		c, err := listener.Accept()
		if err != nil {
			fail(err)
		}
		go serve(c)
	}
}
