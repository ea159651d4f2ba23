"""Simulated file servers: the data they read and write, and the delays they cause."""


def files(run, machine):
    """Every byte of A and B is read once and every byte of C written once; slow servers become the bottleneck, fast
    ones cost little; and reading overlaps products."""
    m, n, k = 16000, 24001, 32000
    words = ["--m", m, "--n", n, "--k", k]
    plain = run(machine(), words)["times"]["multiply_s"]
    for grid in ("0x0x0", "2x2x2", "1x1x7"):
        slow = run(machine(files=3, file_rate=5e9), [*words, "--grid", grid])
        alone = run(machine(), [*words, "--grid", grid])["times"]["multiply_s"]
        moved, took = slow["moved"], slow["times"]["multiply_s"]
        assert moved["as_planned"], (grid, moved)
        assert moved["read_bytes"] == 8 * (m * k + k * n), (grid, moved)
        assert moved["written_bytes"] == 8 * m * n, (grid, moved)
        least = 8 * (m * k + k * n + m * n) / 15e9
        assert slow["bound"]["total"] == "files", (grid, slow["simulated"])
        assert least <= took < 1.1 * (least + alone), (grid, took, least, alone)
    even = run(machine(files=64), words)["times"]["write_s"]
    assert abs(even / (m * n / 50e9) - 1) < 0.01, (even, "64 servers were not asked alike")
    layers = ["--m", 8192, "--n", 8192, "--k", 12288, "--panel", 4096, "--grid", "2x2x2"]
    uneven = run(machine(files=4, file_rate=1e9), layers)["times"]["write_s"]
    assert abs(uneven / (8 * 8192**2 / 4e9) - 1) < 0.01, (uneven, "layers of 2 and 1 panels")
    fast = run(machine(files=64, file_rate=50e9, nic=1e12), words)
    assert fast["bound"]["total"] == "compute", fast["simulated"]
    middle = machine(files=8, file_rate=10e9)
    behind = run(middle, words)["times"]
    before = run(middle, [*words, "--no-overlap"])["times"]
    reading = 8 * (m * k + k * n) / 80e9
    assert before["multiply_s"] > plain + reading, (before, plain)
    assert behind["multiply_s"] < before["multiply_s"] - 0.5 * min(plain, reading), (behind, before)
