"""plink_files: writes files of PLINK 1, G.bed, G.bim and G.fam, and what they hold, by NumPy."""
import numpy as np

MAGIC = b"\x6c\x1b"
MISSING = -1
CODES = np.array([3, 2, 0, 1], np.uint8)  # of no, one and two copies of allele A1, and of a missing one


def packed(numbers, padding=0):
    """Lines of codes, of which the first is in the lowest bits of a byte, and PADDING behind the last one."""
    codes = CODES[np.where(numbers == MISSING, 3, numbers)]
    codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 4)), constant_values=padding)
    return (codes[:, 0::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6).tobytes()


def write(path, numbers, chromosomes=None, parents=None, by_samples=False, padding=0):
    """Writes the variants x samples NUMBERS to PATH (*.bed) and the files beside; the chromosome of each variant, and the
    parents of each sample ("0 0" without)."""
    variants, samples = numbers.shape
    lines = packed(numbers.T if by_samples else numbers, padding)
    path.write_bytes(MAGIC + bytes([not by_samples]) + lines)
    path.with_suffix(".bim").write_text("".join(
        f"{chromosomes[i] if chromosomes is not None else 1}\tv{i}\t0\t{i + 1}\tA\tG\n" for i in range(variants)))
    path.with_suffix(".fam").write_text("".join(
        f"F{j} S{j} {parents[j] if parents is not None else '0 0'} 1 -9\n" for j in range(samples)))


def random(rng, variants, samples, missing=0.03):
    p = rng.uniform(0.05, 0.95, (variants, 1))
    numbers = rng.binomial(2, np.broadcast_to(p, (variants, samples))).astype(np.int8)
    numbers[rng.random((variants, samples)) < missing] = MISSING
    return numbers
