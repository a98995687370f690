// SPDX-License-Identifier: MIT OR Apache-2.0

#include "fairdrop.h"

#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/enum.h"
#include "ns3/fairdrop-helper.h"
#include "ns3/fairdrop-queue-disc.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/node-container.h"
#include "ns3/packet-filter.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/udp-header.h"
#include "ns3/udp-socket-factory.h"

#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t PACKET_BYTES = 1000; // With the IP header.
constexpr uint16_t IPV4 = 0x0800;
constexpr uint16_t IPV6 = 0x86dd;
constexpr uint8_t NOT_ECT = 0;
constexpr uint8_t ECT_0 = 2;
constexpr uint8_t CE = 3;

Ptr<FairdropQueueDisc>
MakeDisc(const std::string& discipline, const std::string& parameters)
{
    return CreateObjectWithAttributes<FairdropQueueDisc>("Discipline",
                                                         StringValue(discipline),
                                                         "Parameters",
                                                         StringValue(parameters),
                                                         "LinkBandwidth",
                                                         StringValue("10Mbps"));
}

Ptr<Packet>
UdpPacket(uint16_t port, uint32_t headerBytes)
{
    UdpHeader udp;
    udp.SetSourcePort(port);
    udp.SetDestinationPort(9);
    auto packet = Create<Packet>(PACKET_BYTES - headerBytes - udp.GetSerializedSize());
    packet->AddHeader(udp);
    return packet;
}

Ptr<QueueDiscItem>
Ipv4ItemFrom(const char* source, uint16_t port, uint8_t ecn = NOT_ECT)
{
    Ipv4Header ip;
    ip.SetSource(source);
    ip.SetDestination("10.0.0.2");
    ip.SetProtocol(17);
    ip.SetTos(ecn);
    return Create<Ipv4QueueDiscItem>(UdpPacket(port, ip.GetSerializedSize()), Address(), IPV4, ip);
}

Ptr<QueueDiscItem>
Ipv4Item(uint16_t port, uint8_t ecn = NOT_ECT)
{
    return Ipv4ItemFrom("10.0.0.1", port, ecn);
}

Ptr<QueueDiscItem>
Ipv6Item(uint16_t port, uint8_t ecn = NOT_ECT)
{
    Ipv6Header ip;
    ip.SetSource("2001:db8::1");
    ip.SetDestination("2001:db8::2");
    ip.SetNextHeader(17);
    ip.SetTrafficClass(ecn);
    return Create<Ipv6QueueDiscItem>(UdpPacket(port, ip.GetSerializedSize()), Address(), IPV6, ip);
}

uint8_t
EcnOf(Ptr<const QueueDiscItem> item)
{
    uint8_t field = 0;
    item->GetUint8Value(QueueItem::IP_DSFIELD, field);
    return field & 3;
}

uint16_t
PortOf(Ptr<const QueueDiscItem> item)
{
    auto packet = item->GetPacket()->Copy();
    // An item that leaves has its IP header in front.
    packet->RemoveAtStart(packet->GetSize() < PACKET_BYTES ? 0 : item->GetProtocol() == IPV4 ? 20 : 40);
    UdpHeader udp;
    packet->PeekHeader(udp);
    return udp.GetSourcePort();
}

/// A link of 10 Mb/s behind a queue disc: one flow offers 0.9 of its rate, nine others as much together.
class Overload
{
  public:
    Overload(Ptr<FairdropQueueDisc> disc, uint32_t packets, uint8_t ecn, bool peek = false)
        : m_disc(disc),
          m_packets(packets),
          m_ecn(ecn),
          m_peek(peek)
    {
        disc->TraceConnectWithoutContext("Mark", MakeCallback(&Overload::Marked, this));
        disc->TraceConnectWithoutContext("Drop", MakeCallback(&Overload::Dropped, this));
        disc->TraceConnectWithoutContext("Drawn", MakeCallback(&Overload::Drawn, this));
        disc->TraceConnectWithoutContext("Internal", MakeCallback(&Overload::Internal, this));
        auto device = CreateObject<NetDeviceQueueInterface>();
        m_transmitter = device->GetTxQueue(0);
        m_transmitter->SetWakeCallback(MakeCallback(&QueueDisc::Run, disc));
        disc->SetNetDeviceQueueInterface(device);
        disc->SetSendCallback([this](Ptr<QueueDiscItem> item) { Send(item); });
        disc->Initialize();
        Simulator::ScheduleNow(&Overload::Arrive, this, 0);
        Simulator::Stop(Seconds(60));
        Simulator::Run();
    }

    std::vector<uint16_t> m_left; ///< The flow of each packet that crossed the link.
    uint32_t m_leftMarked = 0;
    uint32_t m_marked = 0;
    uint32_t m_dropped = 0;
    uint32_t m_drawn = 0;
    std::map<std::string, uint32_t> m_changes;

  private:
    void Arrive(uint32_t number)
    {
        const uint16_t flow = number % 2 == 0 ? 0 : 1 + number / 2 % 9;
        // Every other flow can be marked.
        const auto ecn = flow % 2 == 0 ? m_ecn : NOT_ECT;
        m_disc->Enqueue(number % 3 == 0 ? Ipv6Item(flow, ecn) : Ipv4Item(flow, ecn));
        m_disc->Run();
        if (number + 1 < m_packets)
        {
            Simulator::Schedule(MicroSeconds(444 + number % 7), &Overload::Arrive, this, number + 1);
        }
    }

    void Send(Ptr<QueueDiscItem> item)
    {
        m_left.push_back(PortOf(item));
        m_leftMarked += EcnOf(item) == CE;
        m_transmitter->Stop();
        Simulator::Schedule(MicroSeconds(PACKET_BYTES * 8 / 10), &Overload::Sent, this);
    }

    void Sent()
    {
        if (m_peek)
        {
            m_disc->Peek();
        }
        m_transmitter->Wake();
    }

    void Marked(Ptr<const QueueDiscItem> item, const char*)
    {
        m_marked += EcnOf(item) == CE;
    }

    void Dropped(Ptr<const QueueDiscItem>)
    {
        // Sinks may ask the queue.
        m_disc->GetInternals();
        ++m_dropped;
    }

    void Drawn(Ptr<const QueueDiscItem> item)
    {
        m_drawn += bool(item);
    }

    void Internal(const std::string& name, double)
    {
        ++m_changes[name];
    }

    Ptr<FairdropQueueDisc> m_disc;
    uint32_t m_packets;
    uint8_t m_ecn;
    bool m_peek;
    Ptr<NetDeviceQueue> m_transmitter;
};

/// Every packet is accounted for, by ns-3's counters, by fairdrop's, and by the traces.
class ReconcileTestCase : public TestCase
{
  public:
    ReconcileTestCase(const std::string& discipline, bool peek)
        : TestCase(discipline + (peek ? " loses nothing when it is peeked at" : " loses nothing")),
          m_discipline(discipline),
          m_peek(peek)
    {
    }

  private:
    void DoRun() override
    {
        const uint32_t packets = 4000;
        auto disc = MakeDisc(m_discipline, "limit=60p");
        Overload run(disc, packets, ECT_0, m_peek);
        const auto& stats = disc->GetStats();
        const auto before = stats.nTotalDroppedPacketsBeforeEnqueue;
        const auto after = stats.nTotalDroppedPacketsAfterDequeue;
        NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 0, "nothing waits at the end");
        NS_TEST_EXPECT_MSG_EQ(disc->GetNBytes(), 0, "no bytes wait at the end");
        NS_TEST_EXPECT_MSG_EQ(stats.nTotalReceivedPackets, packets, "all arrived");
        NS_TEST_EXPECT_MSG_EQ(stats.nTotalEnqueuedPackets + before, packets, "each was enqueued or dropped");
        NS_TEST_EXPECT_MSG_EQ(stats.nTotalDequeuedPackets, run.m_left.size() + after, "each that was enqueued left or was dropped");
        NS_TEST_EXPECT_MSG_EQ(run.m_dropped, before + after, "drops have traces");
        NS_TEST_EXPECT_MSG_EQ(run.m_marked, stats.nTotalMarkedPackets, "marks have traces");
        NS_TEST_EXPECT_MSG_EQ(run.m_leftMarked, stats.nTotalMarkedPackets, "what was marked leaves with the mark");
        // Cebinae taxes a constant overload until little is left.
        NS_TEST_EXPECT_MSG_GT(run.m_left.size(), packets / 10, "packets leave");

        fairdrop_counters counters;
        fairdrop_stats(disc->GetQueue(), &counters);
        NS_TEST_EXPECT_MSG_EQ(counters.arrived.packets, packets, "fairdrop saw all");
        NS_TEST_EXPECT_MSG_EQ(counters.departed.packets, run.m_left.size(), "fairdrop sent as many");
        NS_TEST_EXPECT_MSG_EQ(counters.drawn, run.m_drawn, "candidates have traces");
        fairdrop_count count;
        for (uint8_t cause = 0; fairdrop_dropped(disc->GetQueue(), cause, &count) == FAIRDROP_STATUS_OK; ++cause)
        {
            NS_TEST_EXPECT_MSG_EQ(stats.GetNDroppedPackets(fairdrop_cause_name(cause)), count.packets, "drops have their reasons");
            fairdrop_marked(disc->GetQueue(), cause, &count);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(stats.GetNMarkedPackets(fairdrop_cause_name(cause)), count.packets, "marks have their reasons");
        }
        Simulator::Destroy();
    }

    std::string m_discipline;
    bool m_peek;
};

class ReasonsTestCase : public TestCase
{
  public:
    ReasonsTestCase()
        : TestCase("drops and marks have fairdrop's causes as reasons, values their names")
    {
    }

  private:
    void DoRun() override
    {
        auto choke = MakeDisc("choke", "limit=60p min_th=10p max_th=50p");
        Overload matches(choke, 4000, ECT_0);
        const auto& dropped = choke->GetStats();
        const auto pairs = dropped.nDroppedPacketsBeforeEnqueue.at("match_arriving");
        NS_TEST_EXPECT_MSG_GT(pairs, 100, "CHOKe finds matches");
        NS_TEST_EXPECT_MSG_EQ(dropped.nDroppedPacketsAfterDequeue.at("match_queued"), pairs, "each match drops two");
        NS_TEST_EXPECT_MSG_EQ(matches.m_marked, 0, "ecn is off unless it is switched on");
        NS_TEST_EXPECT_MSG_EQ(choke->GetMaxSize(), QueueSize("60p"), "the limit is the queue disc's");
        NS_TEST_EXPECT_MSG_GT(matches.m_changes["avg"], 1000, "the average is traced");
        NS_TEST_EXPECT_MSG_EQ(choke->GetInternals().at(0).first, "avg", "the average has its name");
        Simulator::Destroy();

        auto plain = MakeDisc("droptail", "");
        plain->Initialize();
        NS_TEST_EXPECT_MSG_EQ(plain->GetMaxSize(), QueueSize("300p"), "the default limit as well");

        auto red = MakeDisc("red", "limit=60p min_th=10p max_th=50p ecn=true");
        Overload marks(red, 4000, ECT_0);
        const auto& marked = red->GetStats();
        for (const auto reason : {"red_early", "red_forced"})
        {
            NS_TEST_EXPECT_MSG_GT(marked.GetNMarkedPackets(reason), 0, "RED marks what can be marked");
            NS_TEST_EXPECT_MSG_GT(marked.GetNDroppedPackets(reason), 0, "RED drops what cannot");
        }
        NS_TEST_EXPECT_MSG_EQ(marks.m_leftMarked, marks.m_marked, "marks are in the headers");
        Simulator::Destroy();

        auto pie = MakeDisc("pie", "limit=300p");
        Overload steered(pie, 8000, NOT_ECT);
        NS_TEST_EXPECT_MSG_GT(pie->GetStats().GetNDroppedPackets("pie"), 100, "PIE's timer raises its probability");
        Simulator::Destroy();
    }
};

class StreamsTestCase : public TestCase
{
  public:
    StreamsTestCase()
        : TestCase("the stream determines the run")
    {
    }

  private:
    static std::vector<uint16_t> Left(int64_t stream)
    {
        auto disc = MakeDisc("choke", "limit=60p min_th=10p max_th=50p");
        FairdropHelper::AssignStreams(QueueDiscContainer(disc), stream);
        auto left = Overload(disc, 4000, NOT_ECT).m_left;
        Simulator::Destroy();
        return left;
    }

    void DoRun() override
    {
        const auto left = Left(7);
        NS_TEST_EXPECT_MSG_EQ((Left(7) == left), true, "the same stream, the same run");
        NS_TEST_EXPECT_MSG_EQ((Left(8) == left), false, "another stream, another run");
    }
};

/// Sends datagrams all at once through CAKE's shaper, which is slower than the link: only its timer makes the others leave.
class ShaperTestCase : public TestCase
{
  public:
    ShaperTestCase()
        : TestCase("a shaper sends at its rate, by its timer")
    {
    }

  private:
    void DoRun() override
    {
        NodeContainer nodes(2);
        InternetStackHelper().Install(nodes);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
        auto devices = link.Install(nodes);
        // Without LinkBandwidth: the rate is that of the device.
        auto discs = FairdropHelper("cake", "rate=2mbit limit=300p target=10s interval=10s").Install(devices.Get(0));
        auto interfaces = Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);

        auto sink = Socket::CreateSocket(nodes.Get(1), UdpSocketFactory::GetTypeId());
        sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
        sink->SetRecvCallback(MakeCallback(&ShaperTestCase::Receive, this));
        auto source = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
        source->Connect(InetSocketAddress(interfaces.GetAddress(1), 9));
        for (uint32_t number = 0; number < DATAGRAMS; ++number)
        {
            Simulator::Schedule(Seconds(1), [source] { source->Send(Create<Packet>(PACKET_BYTES - 28)); });
        }
        Simulator::Stop(Seconds(10));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_received, DATAGRAMS, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(discs.Get(0)->GetNPackets(), 0, "nothing waits");
        const double lastS = 1 + DATAGRAMS * PACKET_BYTES * 8 / 2e6;
        NS_TEST_EXPECT_MSG_EQ_TOL(m_last.GetSeconds(), lastS, 0.01, "they take the time of the shaper's rate");
        Simulator::Destroy();
    }

    void Receive(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
            ++m_received;
            m_last = Simulator::Now();
        }
    }

    static constexpr uint32_t DATAGRAMS = 200;
    uint32_t m_received = 0;
    Time m_last;
};

/// Takes the flow from the port, modulo 2.
class ParityFilter : public PacketFilter
{
  private:
    bool CheckProtocol(Ptr<QueueDiscItem>) const override
    {
        return true;
    }

    int32_t DoClassify(Ptr<QueueDiscItem> item) const override
    {
        return PortOf(item) % 2;
    }
};

class FlowsTestCase : public TestCase
{
  public:
    FlowsTestCase()
        : TestCase("flows are what the key or a packet filter says")
    {
    }

  private:
    /// Three packets of each of two ports: the order in which fair queueing lets them leave.
    static std::vector<uint16_t> Order(Ptr<QueueDiscItem> (*make)(uint16_t, uint8_t), const std::string& key, Ptr<PacketFilter> filter)
    {
        auto disc = MakeDisc("drr", "limit=60p");
        disc->SetAttribute("FlowKey", StringValue(key));
        if (filter)
        {
            disc->AddPacketFilter(filter);
        }
        disc->Initialize();
        for (uint16_t port : {1, 1, 1, 3, 3, 3})
        {
            disc->Enqueue(make(port, NOT_ECT));
        }
        std::vector<uint16_t> order;
        while (auto item = disc->Dequeue())
        {
            order.push_back(PortOf(item));
        }
        Simulator::Destroy();
        return order;
    }

    /// Packets of a host with one flow among the first 40 that leave, when another has three flows.
    static int64_t OfTheOther(const std::string& isolation)
    {
        auto disc = MakeDisc("cake", "isolation=" + isolation);
        disc->Initialize();
        for (int round = 0; round < 40; ++round)
        {
            for (uint16_t port : {1, 2, 3})
            {
                disc->Enqueue(Ipv4ItemFrom("10.0.0.1", port));
            }
            disc->Enqueue(Ipv4ItemFrom("10.0.0.3", 4));
        }
        int64_t count = 0;
        for (int left = 0; left < 40; ++left)
        {
            count += PortOf(disc->Dequeue()) == 4;
        }
        Simulator::Destroy();
        return count;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ_TOL(OfTheOther("flows"), 10, 2, "CAKE shares among flows");
        NS_TEST_EXPECT_MSG_EQ_TOL(OfTheOther("dual-srchost"), 20, 2, "CAKE shares among hosts");

        const std::vector<uint16_t> apart = Order(Ipv4Item, "FiveTuple", nullptr);
        const std::vector<uint16_t> together{1, 1, 1, 3, 3, 3};
        NS_TEST_EXPECT_MSG_EQ((apart == together), false, "ports are flows");
        NS_TEST_EXPECT_MSG_EQ((Order(Ipv6Item, "FiveTuple", nullptr) == apart), true, "IPv6 as well");
        for (const std::string key : {"Source", "Destination", "SourceDestination"})
        {
            NS_TEST_EXPECT_MSG_EQ((Order(Ipv4Item, key, nullptr) == together), true, key << " leaves ports out");
            NS_TEST_EXPECT_MSG_EQ((Order(Ipv6Item, key, nullptr) == together), true, key << " leaves ports out of IPv6");
        }
        NS_TEST_EXPECT_MSG_EQ((Order(Ipv4Item, "FiveTuple", CreateObject<ParityFilter>()) == together), true, "a filter comes first");
    }
};

class LabelsTestCase : public TestCase
{
  public:
    LabelsTestCase()
        : TestCase("labels of an edge go to the next queue")
    {
    }

  private:
    /// Offers two queues in a row, the second of half the rate, one flow above its share and three below.
    static uint32_t DroppedByLabel(const std::string& edge)
    {
        auto first = MakeDisc("csfq", "edge=" + edge);
        auto second = MakeDisc("csfq", "edge=false limit=60p");
        second->SetAttribute("LinkBandwidth", StringValue("5Mbps"));
        first->Initialize();
        second->Initialize();
        for (uint32_t number = 0; number < 6000; ++number)
        {
            Simulator::Schedule(MicroSeconds(800 * number), [first, second, number] {
                first->Enqueue(Ipv4Item(number % 2 == 0 ? 0 : number / 2 % 3 + 1));
                second->Enqueue(first->Dequeue());
                if (number % 2 == 0)
                {
                    second->Dequeue();
                }
            });
        }
        Simulator::Run();
        const auto dropped = second->GetStats().GetNDroppedPackets("csfq");
        Simulator::Destroy();
        return dropped;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_GT(DroppedByLabel("true"), 100, "the second queue reads labels");
        NS_TEST_EXPECT_MSG_EQ(DroppedByLabel("false"), 0, "without labels it drops by overflow alone");
    }
};

class ProblemsTestCase : public TestCase
{
  public:
    ProblemsTestCase()
        : TestCase("wrong input is named, and what would be valid")
    {
    }

  private:
    void Expect(Ptr<FairdropQueueDisc> disc, const std::vector<std::string>& parts)
    {
        const auto problem = disc->FindProblem();
        for (const auto& part : parts)
        {
            NS_TEST_EXPECT_MSG_NE(problem.find(part), std::string::npos, "\"" << problem << "\" says " << part);
        }
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(MakeDisc("choke", "limit=300p  schedule=[1, 2, 4]\tmin_th=10 red.max_th=200p ")->FindProblem(), "", "valid");
        NS_TEST_EXPECT_MSG_EQ(MakeDisc("red", "")->FindProblem(), "", "valid");
        Expect(MakeDisc("chok", ""), {"Discipline: ", "\"chok\"", "choke", "ward", "fq_codel"});
        Expect(MakeDisc("choke", "min_thresh=10p"), {"Parameters: ", "\"min_thresh\"", "min_th", "candidates"});
        Expect(MakeDisc("choke", "min_th=-1"), {"Parameters: ", "min_th", "\"-1\"", "packets from 0"});
        Expect(MakeDisc("choke", "min_th=300p"), {"Parameters: ", "min_th", "max_th"});
        Expect(MakeDisc("choke", "min_th"), {"Parameters: ", "\"min_th\"", "NAME=VALUE"});
        auto sized = MakeDisc("choke", "limit=300p");
        sized->SetAttribute("MaxSize", StringValue("200p"));
        Expect(sized, {"limit", "MaxSize"});
        auto bytes = MakeDisc("choke", "");
        bytes->SetAttribute("MaxSize", StringValue("200kB"));
        Expect(bytes, {"MaxSize", "packets"});
        auto rate = MakeDisc("choke", "");
        rate->SetAttribute("LinkBandwidth", StringValue("0bps"));
        Expect(rate, {"LinkBandwidth", "1Mbps"});
    }
};

class FairdropTestSuite : public TestSuite
{
  public:
    FairdropTestSuite()
        : TestSuite("fairdrop", Type::UNIT)
    {
        for (const auto& discipline : FairdropQueueDisc::GetDisciplines())
        {
            AddTestCase(new ReconcileTestCase(discipline, false), Duration::QUICK);
        }
        for (const auto discipline : {"choke", "codel", "fq_codel"})
        {
            AddTestCase(new ReconcileTestCase(discipline, true), Duration::QUICK);
        }
        AddTestCase(new ReasonsTestCase, Duration::QUICK);
        AddTestCase(new StreamsTestCase, Duration::QUICK);
        AddTestCase(new ShaperTestCase, Duration::QUICK);
        AddTestCase(new FlowsTestCase, Duration::QUICK);
        AddTestCase(new LabelsTestCase, Duration::QUICK);
        AddTestCase(new ProblemsTestCase, Duration::QUICK);
    }
};

FairdropTestSuite g_fairdropTestSuite;

} // namespace
