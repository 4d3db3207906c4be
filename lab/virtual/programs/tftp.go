package programs

import (
	"fmt"
	"time"

	"linerate.dev/lab/virtual/loop"
	"linerate.dev/lab/virtual/wire"
)

// tftp is a file in blocks (RFC 1350), several at a time with an option (RFC 7440). Up is a write request.
func (p *pair) tftp() {
	c := p.config
	p.left = 1
	size, window := c.Size, max(c.Window, 1)
	blocks := c.Octets/size + 1
	head := append([]byte{0, 1}, "firmware.bin\x00octet\x00"...)
	if size != 512 {
		head = fmt.Appendf(head, "blksize\x00%d\x00", size)
	}
	if window > 1 {
		head = fmt.Appendf(head, "windowsize\x00%d\x00", window)
	}
	block := func(i int) []byte {
		n := size
		if i == blocks {
			n = c.Octets % size
		}
		return append([]byte{0, 3, byte(i >> 8), byte(i)}, filler(p.Loop, n)...)
	}
	server := p.server.Bind(69)
	p.server.Start(func(proc *loop.Proc) {
		server.Notify(proc.Wake)
		var from wire.Address
		var port uint16
		var data []byte
		next := func(limit time.Duration) bool {
			return proc.Until(limit, func() bool {
				var ok bool
				data, from, port, ok = server.Recv()
				return ok
			})
		}
		next(0)
		transfer := p.server.Bind(uint16(50000 + p.Random.Intn(9000)))
		server = transfer
		server.Notify(proc.Wake)
		to, at := from, port
		acked := 0
		if size != 512 || window > 1 {
			server.SendTo(append([]byte{0, 6}, head[21:]...), to, at)
			acked = -1
		}
		for tries := 0; acked < blocks && tries < 12; {
			if acked >= 0 {
				for i := acked + 1; i <= min(acked+window, blocks); i++ {
					if c.ThinkMS > 0 {
						proc.Sleep(spread(p.Loop, c.ThinkMS, c.ThinkSpread))
					}
					server.SendTo(block(i), to, at)
				}
			}
			was := acked
			for next(time.Duration(c.RetryMS * 1e6)) {
				if len(data) >= 4 && data[1] == 4 {
					if i := max(acked, 0)&^0xffff | int(data[2])<<8 | int(data[3]); i > acked {
						acked = i
						break
					}
				}
			}
			tries++
			if acked > was {
				tries = 0
			}
		}
	})
	p.client.Start(func(proc *loop.Proc) {
		defer p.done()
		socket := p.client.Bind(0)
		socket.Notify(proc.Wake)
		socket.SendTo(head, p.address, 69)
		got, since := 0, 0
		for tries := 0; got < blocks && tries < 12; {
			var data []byte
			var port uint16
			if !proc.Until(time.Duration(c.RetryMS*1.3e6), func() bool {
				var ok bool
				data, _, port, ok = socket.Recv()
				return ok
			}) {
				tries++
				if got == 0 {
					socket.SendTo(head, p.address, 69)
				}
				continue
			}
			tries = 0
			if data[1] == 6 {
				socket.SendTo([]byte{0, 4, 0, 0}, p.address, port)
				continue
			}
			i := got&^0xffff | int(data[2])<<8 | int(data[3])
			if i == got+1 {
				got++
				since++
				p.report.add(p.Loop, len(data)-4)
			}
			if since >= window || got == blocks || i != got {
				since = 0
				if c.WaitMS > 0 {
					wait := spread(p.Loop, c.WaitMS, c.WaitSpread)
					p.report.wait("client_s", wait)
					proc.Sleep(wait)
				}
				socket.SendTo([]byte{0, 4, byte(got >> 8), byte(got)}, p.address, port)
			}
		}
		proc.Sleep(100 * time.Millisecond)
	})
}
