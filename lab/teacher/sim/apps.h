// Programs at the ends.
#pragma once
#include "tcp.h"

struct App {
    Set s;
    Host *client, *server, *resolver = nullptr;
    T start;
    bool done = false;
    double server_s = 0, client_s = 0, writer_s = 0, reader_s = 0, name_s = 0;
    long messages = 0, answers = 0, failures = 0;
    App(const Set& s, std::map<std::string, Host*>& hosts);
    virtual ~App() {}
    virtual void begin() = 0;
    void look_up_and_begin();
    Conn* open(uint16_t port);
    double spread(double mean) { double r = s.num("spread", 0); return mean * (r > 0 ? std::exp(r * (rng.uni() + rng.uni() + rng.uni() - 1.5)) : 1); }
private:
    void ask_name(int attempt, uint16_t id, uint16_t port);
};
App* make_app(const Set& s, std::map<std::string, Host*>& hosts);
std::string request_text(const std::string& flavour, const std::string& method, int64_t body, long n, int size);
std::string answer_text(const std::string& flavour, int64_t body, long n, int size);
std::string dns_text(uint16_t id, const std::string& name, bool answer, const Host* is);
