// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The headline of the CHOKe paper (Pan, Prabhakar, Psounis 2000): 32 TCP flows and one UDP sender of 2 Mb/s over a link of 1 Mb/s.
//
//     fairdrop-headline --Discipline=choke --Parameters="limit=300p min_th=100p max_th=200p"
//     fairdrop-headline --Discipline=ns3::RedQueueDisc --ns3::RedQueueDisc::MinTh=100
//     fairdrop-headline --RngRun=2 --ns3::TcpSocketBase::MinRto=1s
//
// Settings are those of fairdrop's scenario "headline", as far as ns-3's TCP has them. One JSON line is printed: the bytes of either
// kind on the link after the warm-up, UDP's share of them, the use of the link, TCP packets that arrived at the queue disc, and what it
// dropped in the whole run and why.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/fairdrop-helper.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/ppp-header.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{

constexpr uint32_t TCP_FLOWS = 32;
constexpr uint32_t PACKET_BYTES = 1000; // On the wire, with headers of PPP, IP and TCP or UDP.
constexpr uint32_t PPP_AND_IP_BYTES = 2 + 20;
constexpr uint32_t TCP_PAYLOAD_BYTES = PACKET_BYTES - PPP_AND_IP_BYTES - 20;
constexpr uint32_t UDP_PAYLOAD_BYTES = PACKET_BYTES - PPP_AND_IP_BYTES - 8;
constexpr uint32_t WINDOW_PACKETS = 300;
constexpr double UDP_BPS = 2e6;
constexpr double LINK_BPS = 1e6;
constexpr uint16_t PORT = 5000;

struct
{
    double warmUpS = 60;
    uint64_t tcpBytes = 0;
    uint64_t udpBytes = 0;
    uint64_t tcpArrivals = 0; // At the queue disc.
} g_link;

bool
IsUdp(uint8_t protocol)
{
    return protocol == UdpL4Protocol::PROT_NUMBER;
}

void
Arrived(Ptr<const QueueDiscItem> item)
{
    auto ip = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (Simulator::Now().GetSeconds() >= g_link.warmUpS && ip && !IsUdp(ip->GetHeader().GetProtocol()))
    {
        ++g_link.tcpArrivals;
    }
}

void
DroppedOnArrival(Ptr<const QueueDiscItem> item, const char*)
{
    Arrived(item);
}

void
Sent(Ptr<const Packet> packet)
{
    if (Simulator::Now().GetSeconds() < g_link.warmUpS)
    {
        return;
    }
    auto copy = packet->Copy();
    PppHeader ppp;
    Ipv4Header ip;
    copy->RemoveHeader(ppp);
    copy->PeekHeader(ip);
    (IsUdp(ip.GetProtocol()) ? g_link.udpBytes : g_link.tcpBytes) += packet->GetSize();
}

/// A Reno of 1998: no selective acknowledgements, timestamps, limited transmit or delayed ACKs; a window of one packet at first.
void
ConfigureTcp()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpLinuxReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(TCP_PAYLOAD_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(WINDOW_PACKETS * TCP_PAYLOAD_BYTES));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW_PACKETS * TCP_PAYLOAD_BYTES));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(100)));
}

NetDeviceContainer
Connect(Ptr<Node> one, Ptr<Node> other, double bps, const std::string& deviceQueue)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(bps))));
    link.SetChannelAttribute("Delay", TimeValue(MilliSeconds(1)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(deviceQueue));
    return link.Install(one, other);
}

QueueDiscContainer
InstallDisc(Ptr<NetDevice> device, const std::string& discipline, const std::string& parameters)
{
    if (discipline.rfind("ns3::", 0) == 0)
    {
        TrafficControlHelper own;
        own.SetRootQueueDisc(discipline);
        return own.Install(device);
    }
    return FairdropHelper(discipline, parameters).Install(device);
}

} // namespace

int
main(int count, char** words)
{
    std::string discipline = "choke";
    std::string parameters;
    double durationS = 300;

    ConfigureTcp();
    CommandLine options(__FILE__);
    options.AddValue("Discipline", "one of fairdrop's, or a queue disc of ns-3 by its TypeId", discipline);
    options.AddValue("Parameters", "NAME=VALUE with blanks between them", parameters);
    options.AddValue("duration", "simulated seconds", durationS);
    options.AddValue("warmUp", "seconds at the start that are not measured", g_link.warmUpS);
    options.Parse(count, words);

    NodeContainer routers(2);
    NodeContainer senders(TCP_FLOWS + 1);
    NodeContainer receivers(TCP_FLOWS + 1);
    InternetStackHelper internet;
    internet.InstallAll();

    // One packet in the device, so that the others wait in the queue disc.
    auto bottleneck = Connect(routers.Get(0), routers.Get(1), LINK_BPS, "1p");
    auto discs = InstallDisc(bottleneck.Get(0), discipline, parameters);
    bottleneck.Get(0)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(Sent));
    discs.Get(0)->TraceConnectWithoutContext("Enqueue", MakeCallback(Arrived));
    discs.Get(0)->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(DroppedOnArrival));

    // The other devices drop nothing; a queue disc there, which addresses would bring, would be one more thing to know of.
    NetDeviceContainer plain(bottleneck.Get(1));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(bottleneck);
    Ipv4InterfaceContainer there;
    for (uint32_t flow = 0; flow <= TCP_FLOWS; ++flow)
    {
        for (auto [host, router] : {std::pair(senders.Get(flow), routers.Get(0)), std::pair(receivers.Get(flow), routers.Get(1))})
        {
            auto access = Connect(host, router, 10e6, "1000p");
            addresses.NewNetwork();
            auto interfaces = addresses.Assign(access);
            plain.Add(access);
            if (host == receivers.Get(flow))
            {
                there.Add(interfaces.Get(0));
            }
        }
    }
    TrafficControlHelper().Uninstall(plain);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    auto startS = CreateObject<UniformRandomVariable>();
    startS->SetStream(1);
    FairdropHelper::AssignStreams(discs, 2);
    internet.AssignStreams(NodeContainer::GetGlobal(), 100);
    for (uint32_t flow = 0; flow <= TCP_FLOWS; ++flow)
    {
        const bool tcp = flow < TCP_FLOWS;
        const std::string factory = tcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
        PacketSinkHelper(factory, InetSocketAddress(Ipv4Address::GetAny(), PORT)).Install(receivers.Get(flow));
        const InetSocketAddress to(there.GetAddress(flow), PORT);
        ApplicationContainer source;
        if (tcp)
        {
            BulkSendHelper bulk(factory, to);
            bulk.SetAttribute("SendSize", UintegerValue(TCP_PAYLOAD_BYTES));
            source = bulk.Install(senders.Get(flow));
        }
        else
        {
            OnOffHelper constant(factory, to);
            constant.SetConstantRate(DataRate(static_cast<uint64_t>(UDP_BPS * UDP_PAYLOAD_BYTES / PACKET_BYTES)), UDP_PAYLOAD_BYTES);
            source = constant.Install(senders.Get(flow));
        }
        source.Start(Seconds(startS->GetValue(0, 1)));
    }

    Simulator::Stop(Seconds(durationS));
    Simulator::Run();

    const auto sentBytes = static_cast<double>(g_link.tcpBytes + g_link.udpBytes);
    std::cout << "{\"discipline\": \"" << discipline << "\", \"tcp_bytes\": " << g_link.tcpBytes << ", \"udp_bytes\": " << g_link.udpBytes
              << ", \"udp_share_percent\": " << 100 * static_cast<double>(g_link.udpBytes) / sentBytes
              << ", \"use_percent\": " << 100 * sentBytes * 8 / (LINK_BPS * (durationS - g_link.warmUpS)) << ", \"tcp_arrivals\": " << g_link.tcpArrivals << ", \"dropped\": {";
    const auto& stats = discs.Get(0)->GetStats();
    const char* comma = "";
    for (const auto& reasons : {stats.nDroppedPacketsBeforeEnqueue, stats.nDroppedPacketsAfterDequeue})
    {
        for (const auto& [reason, packets] : reasons)
        {
            std::cout << comma << '"' << reason << "\": " << packets;
            comma = ", ";
        }
    }
    std::cout << "}}" << std::endl;
    Simulator::Destroy();
    return 0;
}
