#!/usr/bin/env python3
"""Writes a machine for SimGrid: nodes with GPUs, joined by a fat tree.

    simulation/platform_file.py --nodes 128 --gpus 8 --output DIR      DIR/platform.xml, DIR/hosts

Every GPU is a host. Inside a node it has a link in each direction to a switch that does not block
(NVLink); outside it has a network adapter of its own. Nodes stand in pods below a tree that carries
whatever the adapters send: of it only the latency counts. With --network ports there are hosts only,
and the program itself says what its ports take.
"""
import argparse
import pathlib

HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""
POD = 32  # nodes


def link(name, rate, seconds, policy="SHARED"):
    return f'<link id="{name}" bandwidth="{rate:.0f}Bps" latency="{seconds * 1e6:.3f}us" ' \
           f'sharing_policy="{policy}"/>'


def route(kind, src, dst, links, gateways=()):
    ends = "".join(f' gw_{end}="{name}"' for end, name in zip(("src", "dst"), gateways))
    body = "".join(f'<link_ctn id="{name}"/>' for name in links)
    return f'<{kind} src="{src}" dst="{dst}"{ends} symmetrical="NO">{body}</{kind}>'


def host(name):
    return f'<host id="{name}" speed="1Gf"/>'


def node(number, o):
    """GPUs that see each other by NVLink and the world by adapters; the router is the way out."""
    hosts = [f"gpu{number * o.gpus + g}" for g in range(o.gpus)]
    lines = [f'<zone id="node{number}" routing="Full">', *map(host, hosts)]
    lines.append(f'<router id="out{number}"/>')
    for name in hosts:
        part = o.slow_nic if name == f"gpu{o.nodes * o.gpus // 2}" else 1.0
        lines += [link(f"{name}_{way}", o.link, o.link_latency / 2) for way in ("up", "down")]
        lines += [link(f"{name}_{way}", o.nic * part, o.nic_latency / 2) for way in ("send", "receive")]
    for a in hosts:
        lines += [route("route", a, b, (f"{a}_up", f"{b}_down")) for b in hosts if b != a]
        lines += [route("route", a, f"out{number}", (f"{a}_send",)),
                  route("route", f"out{number}", a, (f"{a}_receive",))]
    return lines + ["</zone>"]


def pod(number, nodes, o):
    """Nodes below one level of switches, and the way to other pods."""
    lines = [f'<zone id="pod{number}" routing="Full">',
             f'<zone id="way{number}" routing="Full"><router id="spine{number}"/></zone>']
    for n in nodes:
        lines += node(n, o)
    lines.append(link(f"leaf{number}", 1e15, 0, "FATPIPE"))
    ends = [(f"node{n}", f"out{n}") for n in nodes] + [(f"way{number}", f"spine{number}")]
    lines += [route("zoneRoute", a, b, (f"leaf{number}",), (out_a, out_b))
              for a, out_a in ends for b, out_b in ends if a != b]
    return lines + ["</zone>"]


def tree(o):
    pods = [range(first, min(first + POD, o.nodes)) for first in range(0, o.nodes, POD)]
    lines = ['<zone id="machine" routing="Full">']
    for number, nodes in enumerate(pods):
        lines += pod(number, nodes, o)
    lines.append(link("root", 1e15, 0, "FATPIPE"))
    lines += [route("zoneRoute", f"pod{a}", f"pod{b}", ("root",), (f"spine{a}", f"spine{b}"))
              for a in range(len(pods)) for b in range(len(pods)) if a != b]
    return lines + ["</zone>"]


def hosts_alone(o):
    return ['<zone id="machine" routing="None">',
            *map(host, names(o)), "</zone>"]


def names(o):
    """Of the hosts: one for each GPU, then one for each file server."""
    return [f"gpu{g}" for g in range(o.nodes * o.gpus)] + [f"files{s}" for s in range(o.files)]


def add_options(parser):
    """Of the machine."""
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--gpus", type=int, default=8, help="of a node (8)")
    parser.add_argument("--model", default="h100", help="of the GPUs, as damier plan --machine knows it (h100)")
    parser.add_argument("--link", type=float, default=370e9,
                        help="bytes/s of a GPU inside its node, each way (370e9)")
    parser.add_argument("--nic", type=float, default=50e9,
                        help="bytes/s of a GPU's network adapter, each way (50e9)")
    parser.add_argument("--link-latency", type=float, default=2e-6, help="seconds (2e-6)")
    parser.add_argument("--nic-latency", type=float, default=5e-6, help="seconds, with switches (5e-6)")
    parser.add_argument("--slow-nic", type=float, default=1.0,
                        help="part of its rate that one adapter has (1)")
    parser.add_argument("--network", choices=("flows", "ports"), default="flows")
    parser.add_argument("--files", type=int, default=0, metavar="SERVERS",
                        help="(ports) A and B are read from so many file servers, and C is written "
                             "there (0: no files)")
    parser.add_argument("--file-rate", type=float, default=10e9,
                        help="bytes/s of a file server, read and written together (10e9)")


def write(o, directory):
    """platform.xml and hosts in DIRECTORY."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = hosts_alone(o) if o.network == "ports" else tree(o)
    (directory / "platform.xml").write_text(HEAD + "\n".join(lines + ["</platform>"]) + "\n")
    (directory / "hosts").write_text("".join(f"{name}\n" for name in names(o)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    write(options, options.output)


if __name__ == "__main__":
    main()
