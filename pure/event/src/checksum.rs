// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! CRC-32C, and the CRC-32 of MCAP, eight bytes at a time. Each finds every error burst of up to 32 bits, and misses one in
//! 2³² of all other errors.

/// Castagnoli's polynomial, bits reversed.
const CASTAGNOLI: u32 = 0x82f6_3b78;
/// That of ISO-HDLC, bits reversed: of zlib, Ethernet, and MCAP.
const ISO_HDLC: u32 = 0xedb8_8320;

/// The contribution of each byte value if 0 to 7 zero bytes follow it.
type Tables = [[u32; 256]; 8];

static TABLES: Tables = tables(CASTAGNOLI);
static MCAP_TABLES: Tables = tables(ISO_HDLC);

const fn tables(polynomial: u32) -> Tables {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ polynomial } else { rest >> 1 };
            bit += 1;
        }
        tables[0][byte] = rest;
        byte += 1;
    }
    let mut behind = 1;
    while behind < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[behind - 1][byte];
            tables[behind][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        behind += 1;
    }
    tables
}

/// The checksum of `bytes` appended to earlier bytes, whose checksum is `before` (0 if there are none).
pub(crate) fn checksum(before: u32, bytes: &[u8]) -> u32 {
    of_tables(&TABLES, before, bytes)
}

/// The checksum of `bytes` in a file of the format MCAP.
pub(crate) fn mcap_checksum(bytes: &[u8]) -> u32 {
    of_tables(&MCAP_TABLES, 0, bytes)
}

fn of_tables(tables: &Tables, before: u32, bytes: &[u8]) -> u32 {
    let mut rest = !before;
    let (words, tail) = bytes.as_chunks::<8>();
    for &[a, b, c, d, e, f, g, h] in words {
        let [a, b, c, d] = (rest ^ u32::from_le_bytes([a, b, c, d])).to_le_bytes();
        let of = |table: usize, byte: u8| tables[table][usize::from(byte)];
        rest = of(7, a) ^ of(6, b) ^ of(5, c) ^ of(4, d) ^ of(3, e) ^ of(2, f) ^ of(1, g) ^ of(0, h);
    }
    for &byte in tail {
        let [low, ..] = rest.to_le_bytes();
        rest = rest >> 8 ^ tables[0][usize::from(low ^ byte)];
    }
    !rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4, and the usual check value.
    #[test]
    fn published_values() {
        assert_eq!(checksum(0, b"123456789"), 0xe306_9283);
        assert_eq!(checksum(0, &[0; 32]), 0x8a91_36aa);
        assert_eq!(checksum(0, &[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(checksum(0, &ascending), 0x46dd_794e);
        assert_eq!(checksum(0, &[]), 0);
    }

    /// The check value of CRC-32/ISO-HDLC, and `zlib.crc32(bytes(range(32)))` of Python.
    #[test]
    fn published_values_of_mcap() {
        assert_eq!(mcap_checksum(b"123456789"), 0xcbf4_3926);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(mcap_checksum(&ascending), 0x9126_7e8a);
    }

    #[test]
    fn parts_give_what_the_whole_gives() {
        let bytes: Vec<u8> = (0..100).map(|n: u8| n.wrapping_mul(37)).collect();
        for cut in 0..=bytes.len() {
            let (front, back) = bytes.split_at(cut);
            assert_eq!(checksum(checksum(0, front), back), checksum(0, &bytes), "{cut}");
        }
    }
}
