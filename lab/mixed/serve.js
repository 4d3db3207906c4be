// A web server: serve.js HOST PORT FILE
const [host, port, file] = process.argv.slice(2);
const fs = require("fs");
require("http").createServer((request, response) => {
    response.writeHead(200, { "Content-Length": fs.statSync(file).size });
    fs.createReadStream(file).pipe(response);
}).listen(Number(port), host);
