// A name server that answers every question for an address with ADDRESS after DELAY_MS: node names.js ADDRESS DELAY_MS.
const [address, delay] = process.argv.slice(2);
const socket = require('dgram').createSocket('udp4');
socket.on('message', (question, from) => {
  let end = 12;
  while (question[end] !== 0) end += question[end] + 1;
  const type = question.readUInt16BE(end + 1);
  const head = Buffer.from(question.subarray(0, end + 5));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(0, 8); head.writeUInt16BE(0, 10);
  const answer = type === 1
    ? Buffer.concat([Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]), Buffer.from(address.split('.').map(Number))])
    : Buffer.alloc(0);
  head.writeUInt16BE(type === 1 ? 1 : 0, 6);
  setTimeout(() => socket.send(Buffer.concat([head, answer]), from.port, from.address), Number(delay));
}).bind(53);
