// Asks for pages over one connection: node ask.js HOST PORT OCTETS COUNT PAUSE_MS.
const [host, port, octets, count, pause] = process.argv.slice(2);
const http = require('http');
const agent = new http.Agent({keepAlive: true, maxSockets: 1});
let left = Number(count);
const next = () => {
  if (left-- === 0) { agent.destroy(); return; }
  http.get({host, port, path: '/' + octets, agent}, (response) => {
    response.on('data', () => {});
    response.on('end', () => setTimeout(next, Number(pause)));
  });
};
next();
