// A server of pages and streams: node web.js PORT THINK_MS. /OCTETS answers with so many octets after THINK_MS; /events sends
// 90 octets every 100 ms for 5 s.
const [port, think] = process.argv.slice(2).map(Number);
require('http').createServer((request, response) => {
  if (request.url === '/events') {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    let left = 50;
    const timer = setInterval(() => {
      response.write('data: ' + 'x'.repeat(82) + '\n\n');
      if (--left === 0) { clearInterval(timer); response.end(); }
    }, 100);
    return;
  }
  const octets = Number(request.url.slice(1));
  setTimeout(() => { response.writeHead(200, {'Content-Length': octets}); response.end(Buffer.alloc(octets, 'x')); }, think);
}).listen(port);
