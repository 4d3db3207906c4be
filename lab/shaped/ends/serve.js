// Answers each request with `octets` (the first argument), after `think` ms (the second).
const http = require("http");

const octets = Number(process.argv[2]);
const think = Number(process.argv[3] || 0);

http.createServer((request, response) => {
    request.resume();
    setTimeout(() => {
        response.writeHead(200, { "Content-Length": octets });
        response.end(Buffer.alloc(octets));
    }, think);
}).listen(8080, "0.0.0.0");
