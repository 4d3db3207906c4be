#include "programs.h"
#include "settings.h"

using namespace ns3;

static Time ms(double value) { return NanoSeconds((int64_t)(value * 1e6)); }

/* While a program works: `works` ms of each `works + stops` ms. Else, when it goes on. */
static bool stands(Time begun, Time &goes_on)
{
    if (settings.stops <= 0) {
        return false;
    }
    Time each = ms(settings.works + settings.stops), since = Simulator::Now() - begun;
    Time within = NanoSeconds(since.GetNanoSeconds() % each.GetNanoSeconds());
    goes_on = Simulator::Now() + each - within;
    return within >= ms(settings.works);
}

struct Stream {
    Time begun, next;
    double left, of_chunk = 0;
    bool is_over = false, has_begun = false;
};

void send_stream(End &end)
{
    auto it = std::make_shared<Stream>();
    it->left = settings.octets;
    end.step = [&end, it] {
        if (!end.connection || !end.connection->is_open() || it->is_over) {
            return;
        }
        if (!it->has_begun) {
            it->has_begun = true;
            it->begun = it->next = Simulator::Now();
        }
        Time now = Simulator::Now(), goes_on;
        if (stands(it->begun, goes_on)) {
            if (it->next < goes_on) {
                it->next = goes_on;
                end.call(goes_on);
            }
            return;
        }
        while (it->left > 0 && now >= it->next) {
            if (it->of_chunk <= 0) {
                it->of_chunk = settings.chunk > 0 ? std::min(settings.chunk, it->left) : it->left;
            }
            uint32_t done = end.connection->write((uint32_t)std::min(it->of_chunk, 65536.0));
            if (done == 0) {
                return;
            }
            it->left -= done, it->of_chunk -= done, counts.written += done;
            if (it->of_chunk <= 0 && settings.pause > 0) {
                it->next = now + ms(settings.pause);
                end.call(it->next);
            }
        }
        if (it->left <= 0) {
            it->is_over = true;
            end.connection->close();
        }
    };
}

void read_stream(End &end)
{
    auto it = std::make_shared<Stream>();
    auto of_block = std::make_shared<double>(0);
    end.step = [&end, it, of_block] {
        if (!end.connection || it->is_over) {
            return;
        }
        if (!it->has_begun) {
            it->has_begun = true;
            it->begun = it->next = Simulator::Now();
        }
        while (Simulator::Now() >= it->next) {
            double most = settings.read_chunk > 0 ? settings.read_chunk : 65536;
            if (settings.still_each > 0) {
                most = std::min(most, settings.still_each - *of_block);
            }
            int got = end.connection->read((uint32_t)most);
            if (got <= 0) {
                if (got < 0) {
                    it->is_over = true;
                    end.connection->close();
                    Simulator::Stop(Seconds(1));
                }
                return;
            }
            counts.taken += got;
            if (settings.read_pause > 0) {
                it->next = Simulator::Now() + ms(settings.read_pause);
                end.call(it->next);
            }
            if (settings.still_each > 0 && (*of_block += got) >= settings.still_each) {
                *of_block = 0;
                end.rest(settings.still_ms);
                end.call(Simulator::Now() + ms(settings.still_ms));
                return;
            }
        }
    };
}

struct Server {
    double got = 0, waiting = 0;
    std::deque<Time> due;
};

void serve(End &end)
{
    auto it = std::make_shared<Server>();
    end.step = [&end, it] {
        if (!end.connection) {
            return;
        }
        int got;
        while ((got = end.connection->read(65536)) > 0) {
            it->got += got;
        }
        while (it->got >= settings.request) {
            it->got -= settings.request;
            double think = counts.served + it->due.size() == 0 && settings.first_think > 0 ? settings.first_think : settings.think;
            it->due.push_back(Simulator::Now() + ms(think));
            if (think > 0) {
                end.call(it->due.back());
            }
        }
        while (!it->due.empty() && it->due.front() <= Simulator::Now()) {
            it->due.pop_front();
            it->waiting += settings.answer;
            counts.served++;
        }
        while (it->waiting > 0) {
            uint32_t done = end.connection->write((uint32_t)std::min(it->waiting, 65536.0));
            if (done == 0) {
                return;
            }
            it->waiting -= done;
        }
    };
}

struct Client {
    double asked = 0, left = 0, of_answer = 0;
    bool waits = false;
    Time next;
};

void ask(End &end)
{
    auto it = std::make_shared<Client>();
    end.step = [&end, it] {
        if (!end.connection || !end.connection->is_open()) {
            return;
        }
        int got;
        while ((got = end.connection->read(65536)) > 0) {
            it->of_answer += got;
        }
        if (it->waits && it->of_answer >= settings.answer) {
            it->of_answer -= settings.answer;
            it->waits = false;
            counts.answers++;
            it->next = Simulator::Now() + ms(settings.client_pause);
            if (counts.answers >= settings.asks) {
                Simulator::Stop(MilliSeconds(300));
            } else if (settings.client_pause > 0) {
                end.call(it->next);
            }
        }
        if (!it->waits && it->asked < settings.asks && Simulator::Now() >= it->next) {
            it->asked++;
            it->waits = true;
            it->left = settings.request;
        }
        while (it->left > 0) {
            /* A request in two writes. */
            double part = settings.split > 0 && it->left == settings.request ? settings.split : it->left;
            uint32_t done = end.connection->write((uint32_t)part);
            if (done == 0) {
                return;
            }
            it->left -= done;
        }
    };
}
