// Sends numbered datagrams: node stream.js HOST PORT OCTETS BITS_PER_S SECONDS. The number is 4 octets at the beginning.
const [host, port, octets, rate, seconds] = process.argv.slice(2);
const socket = require('dgram').createSocket(host.includes(':') ? 'udp6' : 'udp4');
const datagram = Buffer.alloc(Number(octets), 'x');
const start = process.hrtime.bigint();
let sent = 0;
const timer = setInterval(() => {
  const since = Number(process.hrtime.bigint() - start) / 1e9;
  if (since > Number(seconds)) { clearInterval(timer); socket.close(); return; }
  while (sent * Number(octets) * 8 < since * Number(rate)) {
    datagram.writeUInt32BE(sent++, 0);
    socket.send(Buffer.from(datagram), Number(port), host);
  }
}, 1);
