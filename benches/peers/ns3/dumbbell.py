"""ns-3 peer of the speed scenarios: infinite TCP transfers and constant-rate UDP over one congested link under RED.

    python dumbbell.py --tcp-flows 32 --udp-flows 1 --rate 1e6 --duration 500

Needs the package `ns3` from PyPI, whose libraries are an optimised build. Flows share at most `--hosts` hosts a
side: fewer nodes and tables, which only makes ns-3 faster. No traces and no flow monitor. Rates are in bit/s,
times in seconds, queue lengths in packets. One JSON line is printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

from ns import ns

PACKET_BYTES = 1000
# IP, TCP with time stamps, and PPP: what is left of a packet of 1000 bytes on the wire.
TCP_PAYLOAD = PACKET_BYTES - 54
UDP_PAYLOAD = PACKET_BYTES - 30
# Packets; larger buffers would only take memory, of which 10 MB each are more than a machine has.
WINDOW = 300
PORT = 5000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tcp-flows", type=int, default=32)
    parser.add_argument("--udp-flows", type=int, default=1)
    parser.add_argument("--udp-rate", type=float, default=2e6)
    parser.add_argument("--rate", type=float, default=1e6)
    parser.add_argument("--delay", type=float, default=0.001)
    parser.add_argument("--access-rate", type=float, default=10e6)
    parser.add_argument("--access-delay", type=float, default=0.001)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--min-th", type=float, default=100)
    parser.add_argument("--max-th", type=float, default=200)
    parser.add_argument("--duration", type=float, default=500)
    parser.add_argument("--start-spread", type=float, default=1)
    parser.add_argument("--hosts", type=int, default=64)
    return parser.parse_args()


def configure() -> None:
    """TCP NewReno with packets of 1000 bytes on the wire and the timers that the scenarios use."""
    config = ns.Config
    config.SetDefault("ns3::TcpL4Protocol::SocketType", ns.StringValue("ns3::TcpNewReno"))
    config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(TCP_PAYLOAD))
    config.SetDefault("ns3::TcpSocket::DelAckCount", ns.UintegerValue(1))
    config.SetDefault("ns3::TcpSocketBase::MinRto", ns.TimeValue(ns.Seconds(0.2)))
    buffers = ns.UintegerValue(WINDOW * PACKET_BYTES)
    config.SetDefault("ns3::TcpSocket::SndBufSize", buffers)
    config.SetDefault("ns3::TcpSocket::RcvBufSize", buffers)


def link(rate: float, delay: float) -> ns.PointToPointHelper:
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{int(rate)}bps"))
    helper.SetChannelAttribute("Delay", ns.StringValue(f"{int(delay * 1e9)}ns"))
    return helper


def build(args: argparse.Namespace) -> list[ns.ApplicationContainer]:
    flows = args.tcp_flows + args.udp_flows
    hosts = min(flows, args.hosts)
    access, congested = link(args.access_rate, args.access_delay), link(args.rate, args.delay)
    # The device queue is short, so that packets wait in the discipline.
    congested.SetQueue("ns3::DropTailQueue", "MaxSize", ns.StringValue("1p"))
    dumbbell = ns.PointToPointDumbbellHelper(hosts, access, hosts, access, congested)
    dumbbell.InstallStack(ns.InternetStackHelper())
    red = ns.TrafficControlHelper()
    red.SetRootQueueDisc(
        "ns3::RedQueueDisc",
        "MinTh",
        ns.DoubleValue(args.min_th),
        "MaxTh",
        ns.DoubleValue(args.max_th),
        "MaxSize",
        ns.StringValue(f"{args.limit}p"),
        "LinkBandwidth",
        ns.StringValue(f"{int(args.rate)}bps"),
        "MeanPktSize",
        ns.UintegerValue(PACKET_BYTES),
        "QW",
        ns.DoubleValue(0.002),
        "LInterm",
        ns.DoubleValue(10),
        "Gentle",
        ns.BooleanValue(False),
    )
    red.Install(dumbbell.GetLeft().GetDevice(0))
    dumbbell.AssignIpv4Addresses(
        ns.Ipv4AddressHelper("10.1.0.0", "255.255.255.0"),
        ns.Ipv4AddressHelper("10.2.0.0", "255.255.255.0"),
        ns.Ipv4AddressHelper("10.3.0.0", "255.255.255.0"),
    )
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return [add_flow(args, dumbbell, flow, hosts, args.start_spread * flow / flows) for flow in range(flows)]


def add_flow(
    args: argparse.Namespace, dumbbell: ns.PointToPointDumbbellHelper, flow: int, hosts: int, start: float
) -> ns.ApplicationContainer:
    host, port = flow % hosts, PORT + flow // hosts
    protocol = "ns3::TcpSocketFactory" if flow < args.tcp_flows else "ns3::UdpSocketFactory"
    there = ns.InetSocketAddress(dumbbell.GetRightIpv4Address(host), port).ConvertTo()
    here = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
    sinks = ns.PacketSinkHelper(protocol, here).Install(dumbbell.GetRight(host))
    if flow < args.tcp_flows:
        source = ns.BulkSendHelper(protocol, there)
        source.SetAttribute("SendSize", ns.UintegerValue(TCP_PAYLOAD))
    else:
        source = ns.OnOffHelper(protocol, there)
        source.SetConstantRate(ns.DataRate(int(args.udp_rate * UDP_PAYLOAD / PACKET_BYTES)), UDP_PAYLOAD)
    source.Install(dumbbell.GetLeft(host)).Start(ns.Seconds(start))
    sinks.Start(ns.Seconds(0))
    return sinks


def main() -> None:
    args = arguments()
    configure()
    sinks = build(args)
    ns.Simulator.Stop(ns.Seconds(args.duration))
    before = time.process_time()
    ns.Simulator.Run()
    loop = time.process_time() - before
    received = [sink.Get(0).GetObject[ns.PacketSink]().GetTotalRx() for sink in sinks]
    document = {
        "tool": "ns-3",
        "loop_cpu_s": loop,
        "tcp_bytes": sum(received[: args.tcp_flows]),
        "udp_bytes": sum(received[args.tcp_flows :]),
        "max_rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
