#!/usr/bin/env python3
"""Writes a machine for SimGrid: nodes with GPUs, joined by a fat tree.

    simulation/platform.py --nodes 128 --gpus 8 --output DIR      DIR/platform.xml, DIR/hosts

Every GPU is a host. Inside a node it has a link in each direction to a switch that does not block
(NVLink); outside it has a network adapter of its own. Nodes stand in pods: inside a pod, and with
--taper 1 above it, the tree carries whatever the adapters send, so that only its latency counts;
with --taper T the way out of a pod carries a T-th of that.
"""
import argparse
import pathlib

HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""


def link(name, rate, seconds, policy="SHARED"):
    return f'<link id="{name}" bandwidth="{rate:.0f}Bps" latency="{seconds * 1e6:.3f}us" ' \
           f'sharing_policy="{policy}"/>'


def route(kind, src, dst, links, gateways=()):
    ends = "".join(f' gw_{end}="{name}"' for end, name in zip(("src", "dst"), gateways))
    body = "".join(f'<link_ctn id="{name}"/>' for name in links)
    return f'<{kind} src="{src}" dst="{dst}"{ends} symmetrical="NO">{body}</{kind}>'


def node(number, o):
    """GPUs that see each other by NVLink and the world by adapters; the router is the way out."""
    hosts = [f"gpu{number * o.gpus + g}" for g in range(o.gpus)]
    lines = [f'<zone id="node{number}" routing="Full">']
    lines += [f'<host id="{host}" speed="1Gf"/>' for host in hosts]
    lines.append(f'<router id="out{number}"/>')
    for host in hosts:
        slow = o.slow_nic if host == f"gpu{o.gpus * (o.nodes // 2)}" else 1.0
        lines += [link(f"{host}_up", o.link, o.link_latency / 2),
                  link(f"{host}_down", o.link, o.link_latency / 2),
                  link(f"{host}_send", o.nic * slow, o.nic_latency / 2),
                  link(f"{host}_receive", o.nic * slow, o.nic_latency / 2)]
    for a in hosts:
        lines += [route("route", a, b, (f"{a}_up", f"{b}_down")) for b in hosts if b != a]
        lines += [route("route", a, f"out{number}", (f"{a}_send",)),
                  route("route", f"out{number}", a, (f"{a}_receive",))]
    return lines + ["</zone>"]


def pod(number, nodes, o):
    """Nodes below one level of switches."""
    lines = [f'<zone id="pod{number}" routing="Full">', f'<router id="spine{number}"/>']
    lines.append(link(f"leaf{number}", 1e15, o.switch_latency, "FATPIPE"))
    for n in nodes:
        lines += node(n, o)
    lines[1:1] = []
    for a in nodes:
        lines += [route("zoneRoute", f"node{a}", f"node{b}", (f"leaf{number}",),
                        (f"out{a}", f"out{b}")) for b in nodes if b != a]
        lines += [route("zoneRoute", f"node{a}", f"way{number}", (f"leaf{number}",),
                        (f"out{a}", f"spine{number}")),
                  route("zoneRoute", f"way{number}", f"node{a}", (f"leaf{number}",),
                        (f"spine{number}", f"out{a}"))]
    lines[1] = f'<zone id="way{number}" routing="Full"><router id="spine{number}"/></zone>'
    return lines + ["</zone>"]


def platform(o):
    pods = [range(first, min(first + o.pod, o.nodes)) for first in range(0, o.nodes, o.pod)]
    lines = ['<zone id="machine" routing="Full">']
    for p, nodes in enumerate(pods):
        rate = o.nic * o.gpus * len(nodes) / o.taper
        policy = "SHARED" if o.taper > 1 else "FATPIPE"
        lines += pod(p, nodes, o)
        lines += [link(f"pod{p}_up", rate, o.switch_latency, policy),
                  link(f"pod{p}_down", rate, o.switch_latency, policy)]
    for a in range(len(pods)):
        lines += [route("zoneRoute", f"pod{a}", f"pod{b}", (f"pod{a}_up", f"pod{b}_down"),
                        (f"spine{a}", f"spine{b}")) for b in range(len(pods)) if b != a]
    return HEAD + "\n".join(lines + ["</zone>", "</platform>"]) + "\n"


def add_options(parser):
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--gpus", type=int, default=8, help="of a node (8)")
    parser.add_argument("--link", type=float, default=370e9, help="B/s of a GPU inside its node, each way")
    parser.add_argument("--nic", type=float, default=50e9, help="B/s of a GPU's adapter, each way")
    parser.add_argument("--link-latency", type=float, default=2e-6)
    parser.add_argument("--nic-latency", type=float, default=4e-6)
    parser.add_argument("--switch-latency", type=float, default=0.5e-6)
    parser.add_argument("--pod", type=int, default=32, help="nodes of a pod (32)")
    parser.add_argument("--taper", type=float, default=1.0, help="1: the tree does not block")
    parser.add_argument("--slow-nic", type=float, default=1.0, help="part of its rate that one adapter has")


def write(options, directory):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "platform.xml").write_text(platform(options))
    hosts = (f"gpu{g}\n" for g in range(options.nodes * options.gpus))
    (directory / "hosts").write_text("".join(hosts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    write(options, options.output)


if __name__ == "__main__":
    main()
