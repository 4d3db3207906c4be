// The first octets of what programs say.
#include "apps.h"

static std::string be16(unsigned v) { return {(char)(v >> 8), (char)v}; }
static const char* names[] = {"data.example.net", "www.example.org", "files.example.com", "sensor7.example.net", "updates.example.org", "plant.example.com"};

std::string request_text(const std::string& flavour, const std::string& method, int64_t body, long n, int size) {
    std::string t;
    if (flavour == "http") {
        static const char* agents[] = {"curl/8.5.0", "Wget/1.21.4", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "python-requests/2.32.3", "okhttp/4.12.0"};
        t = method + " /" + (method == "GET" ? "items/" : "upload/") + std::to_string(n + 17) + (method == "GET" ? ".json" : ".bin") + " HTTP/1.1\r\nHost: " + names[n % 6] + "\r\nUser-Agent: " + agents[size % 5] + "\r\nAccept: */*\r\n";
        if (method != "GET") t += "Content-Type: application/octet-stream\r\nContent-Length: " + std::to_string(body) + "\r\n";
        if ((int)t.size() + 18 < size) t += "Cookie: s=" + std::string(size - t.size() - 14, 'k') + "\r\n";
        t += "\r\n";
    } else if (flavour == "modbus") {
        t = be16(n & 0xffff) + be16(0) + be16(6) + std::string("\x01\x03", 2) + be16(100 + n % 40) + be16(16);
    } else if (flavour == "mqtt") {
        std::string topic = "site/line3/t" + std::to_string(n % 9), value = "{\"t\":" + std::to_string(1764550000 + n) + ",\"v\":" + std::to_string(20 + n % 7) + "." + std::to_string(n % 10) + "}";
        while ((int)(topic.size() + value.size()) + 6 < size && value.size() < 100) value += ' ';
        t = std::string("\x30", 1) + (char)(topic.size() + 2 + value.size()) + be16(topic.size()) + topic + value;
    } else if (flavour == "ssh") {
        t = std::string(std::max(size, 36), 'x');
        for (auto& c : t) c = (char)rng.u32();
    } else if (flavour == "coap") {
        t = std::string("\x41\x01", 2) + be16(n & 0xffff) + (char)(n * 37) + "\xb4temp";
    } else if (flavour == "ntp") {
        t = std::string(48, '\0');
        t[0] = 0x23;
        for (int i = 40; i < 48; i++) t[i] = (char)rng.u32();
    } else if (flavour == "dns") {
        t = dns_text((uint16_t)(n * 7919 + 77), names[n % 6], false, nullptr);
    } else if (flavour == "numbered") {  // as iperf numbers its datagrams
        t = be16(n >> 16 & 0xffff) + be16(n & 0xffff) + be16(0) + be16((sim.now / SEC) & 0xffff) + be16((sim.now % SEC / 1000) >> 16) + be16((sim.now % SEC / 1000) & 0xffff);
    } else if (flavour == "rtp") {
        t = std::string("\x80\x00", 2) + be16(n & 0xffff) + be16((n * 160) >> 16 & 0xffff) + be16((n * 160) & 0xffff) + std::string("\x12\x34\x56\x78", 4);
    } else if (flavour == "rpc") {
        t = be16(0) + be16(size) + "CALL" + be16(n & 0xffff);
    }
    return t;
}

std::string answer_text(const std::string& flavour, int64_t body, long n, int size) {
    if (flavour == "http")
        return "HTTP/1.1 200 OK\r\nDate: Tue, 18 Nov 2025 08:" + std::to_string(10 + n % 49) + ":12 GMT\r\nServer: nginx/1.26.2\r\nContent-Type: application/octet-stream\r\nContent-Length: " + std::to_string(body) + "\r\nConnection: keep-alive\r\n\r\n";
    if (flavour == "modbus") return be16(n & 0xffff) + be16(0) + be16(35) + std::string("\x01\x03\x20", 3);
    if (flavour == "coap") return std::string("\x61\x45", 2) + be16(n & 0xffff) + (char)(n * 37) + "\xff" "21.5 C";
    if (flavour == "ntp") { std::string t(48, '\0'); t[0] = 0x24; t[1] = 2; for (int i = 4; i < 48; i++) t[i] = (char)rng.u32(); return t; }
    if (flavour == "dns") return dns_text((uint16_t)(n * 7919 + 77), names[n % 6], true, nullptr);
    if (flavour == "rpc") return be16(0) + be16(size) + "ANSW" + be16(n & 0xffff);
    return "";
}

std::string dns_text(uint16_t id, const std::string& name, bool answer, const Host* is) {
    bool v6 = is && is->v6;
    std::string t = be16(id) + be16(answer ? 0x8180 : 0x0100) + be16(1) + be16(answer) + be16(0) + be16(0), part;
    for (size_t a = 0; a <= name.size();) {
        size_t b = std::min(name.find('.', a), name.size());
        t += (char)(b - a) + name.substr(a, b - a);
        a = b + 1;
    }
    t += '\0' + be16(v6 ? 28 : 1) + be16(1);
    if (answer) {
        t += be16(0xc00c) + be16(v6 ? 28 : 1) + be16(1) + be16(0) + be16(300) + be16(v6 ? 16 : 4);
        if (is) t.append((const char*)is->ip, v6 ? 16 : 4); else t += std::string("\xc0\x00\x02\x21", 4);
    }
    return t;
}
