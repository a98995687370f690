// htsim peer of the speed scenarios: infinite TCP transfers and constant-rate UDP over one congested link.
//
//   htsim_dumbbell tcp_flows udp_flows udp_bps rate_bps access_bps one_way_us limit_packets duration_ms
//
// Built against libhtsim.a of the public repository; see README.md beside the folder. htsim gets its cheapest form:
// the model of its own example main_dumbell_tcp.cpp (a queue for each source's own link, one shared queue, one pipe
// each way), a DropTail queue in place of RED, which it lacks, and no loggers.

#include "cbr.h"
#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

static const int PACKET_BYTES = 1000;

struct Settings {
    int tcp_flows, udp_flows;
    linkspeed_bps udp_bps, rate_bps, access_bps;
    uint32_t one_way_us;
    int limit_packets;
    uint64_t duration_ms;
};

static Settings parse(char **argv) {
    return Settings{atoi(argv[1]),
                    atoi(argv[2]),
                    (linkspeed_bps)atof(argv[3]),
                    (linkspeed_bps)atof(argv[4]),
                    (linkspeed_bps)atof(argv[5]),
                    (uint32_t)atoi(argv[6]),
                    atoi(argv[7]),
                    (uint64_t)atoll(argv[8])};
}

static double cpu_seconds() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/// Start times spread over a second, or over a tenth of a shorter run.
static simtime_picosec start_time(const Settings &settings) {
    double spread_ms = settings.duration_ms < 10000 ? settings.duration_ms / 10.0 : 1000.0;
    return (simtime_picosec)(drand() * (double)timeFromMs(1) * spread_ms);
}

int main(int argc, char **argv) {
    if (argc != 9) {
        fprintf(stderr,
                "usage: %s tcp_flows udp_flows udp_bps rate_bps access_bps one_way_us limit_packets duration_ms\n",
                argv[0]);
        return 2;
    }
    Settings settings = parse(argv);
    srand(1);
    Packet::set_packet_size(PACKET_BYTES);
    EventList events;
    events.setEndtime(timeFromMs(1) * settings.duration_ms);

    Queue bottleneck(settings.rate_bps, memFromPkt(settings.limit_packets), events, NULL);
    Pipe forward(timeFromUs(settings.one_way_us), events), backward(timeFromUs(settings.one_way_us), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<TcpSink *> sinks;
    std::vector<CbrSink *> udp_sinks;

    for (int flow = 0; flow < settings.tcp_flows; flow++) {
        TcpSrc *source = new TcpSrc(NULL, NULL, events);
        TcpSink *sink = new TcpSink();
        timers.registerTcp(*source);
        route_t *out = new route_t(), *back = new route_t();
        out->push_back(new Queue(settings.access_bps, memFromPkt(1000), events, NULL));
        out->push_back(&bottleneck);
        out->push_back(&forward);
        out->push_back(sink);
        back->push_back(&backward);
        back->push_back(source);
        source->connect(*out, *back, *sink, start_time(settings));
        sinks.push_back(sink);
    }
    for (int flow = 0; flow < settings.udp_flows; flow++) {
        CbrSrc *source = new CbrSrc(events, settings.udp_bps);
        // The source is made for 1500-byte packets.
        source->_mss = PACKET_BYTES;
        source->_period = (simtime_picosec)(8e12 * PACKET_BYTES / (double)settings.udp_bps);
        CbrSink *sink = new CbrSink();
        route_t *out = new route_t();
        out->push_back(&bottleneck);
        out->push_back(&forward);
        out->push_back(sink);
        source->connect(*out, *sink, start_time(settings));
        udp_sinks.push_back(sink);
    }

    double before = cpu_seconds();
    while (events.doNextEvent()) {
    }
    double loop = cpu_seconds() - before;
    uint64_t tcp_bytes = 0, udp_packets = 0;
    for (TcpSink *sink : sinks) {
        tcp_bytes += sink->cumulative_ack();
    }
    for (CbrSink *sink : udp_sinks) {
        udp_packets += sink->_received;
    }
    printf("{\"tool\": \"htsim\", \"loop_cpu_s\": %.6f, \"tcp_bytes\": %llu, \"udp_packets\": %llu}\n", loop,
           (unsigned long long)tcp_bytes, (unsigned long long)udp_packets);
    return 0;
}
