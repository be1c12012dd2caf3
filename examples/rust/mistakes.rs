//! Mistakes that compile, or nearly: every one expects what dmaverify says of it.

use furiosa_opt_std::prelude::*;

axes![Row = 256, Odd = 5, Copy = 8, Chunk = 512, Width = 64, Pick = 2048];

type Chip = m![1];
type Cluster = m![1 # 2];
type Lane = m![1 # 256];

/// Rows of 20 bytes: data memory is written in words of 8.
#[device(chip = 1)]
pub fn short_rows(ctx: &mut Context, input: &HbmTensor<i32, Chip, m![Row, Odd]>) {
    // dmaverify: expect(rngd/dm-packet-multiple, rngd/hbm-dm-align, rngd/std-tail, rngd/std-stride)
    let _rows: DmTensor<i32, Chip, Cluster, m![Row], m![Odd]> = input.to_dm(&mut ctx.tdma);
}

/// The store writes one of the eight copies that the result promises; on the chip the rest is whatever was there.
#[device(chip = 1)]
pub fn copies(ctx: &mut Context, input: &HbmTensor<i8, Chip, m![Row, Width]>) -> HbmTensor<i8, Chip, m![Copy, Row, Width]> {
    let rows: DmTensor<i8, Chip, Cluster, m![Row], m![Width]> = input.to_dm(&mut ctx.tdma);
    // dmaverify: expect(rngd/store-broadcast)
    rows.to_hbm(&mut ctx.tdma)
}

/// Half of the source goes nowhere.
#[device(chip = 1)]
pub fn forgotten(ctx: &mut Context, input: &HbmTensor<i8, Chip, m![Chunk, Width]>) {
    // dmaverify: expect(core/consumes)
    let _half: DmTensor<i8, Chip, Cluster, m![Chunk = 256], m![Width]> = input.to_dm(&mut ctx.tdma);
}

/// A chunk number where a position was meant: windows of 64 that start 1 apart.
#[device(chip = 1)]
pub fn overlapping(ctx: &mut Context, input: &HbmTensor<i8, Chip, m![Chunk, Width]>) -> HbmTensor<i8, Chip, m![Chunk, Width]> {
    let mut out = HbmTensor::<i8, Chip, m![Chunk, Width]>::new();
    for i in 0..8 {
        let part = input.view().tile::<m![Chunk], 64, m![Chunk = 64 # 512, Width]>(64 * i);
        let into = out.view_mut().tile::<m![Chunk], 64, m![Chunk = 64 #{!} 512, Width]>(i);
        // dmaverify: expect(core/well-formed)
        part.to_hbm_view(&mut ctx.tdma, into);
    }
    out
}

/// 2,048 row numbers are 8 KiB; one engine's scratchpad holds 4.
#[device(chip = 1)]
pub fn long_index(
    ctx: &mut Context,
    table: &HbmTensor<i8, Chip, m![Row, Width]>,
    numbers: &HbmTensor<i32, Chip, m![Pick]>,
) {
    let numbers: DmTensor<i32, Chip, Cluster, m![Pick / 8], m![Pick % 8]> = numbers.to_dm(&mut ctx.tdma);
    // dmaverify: expect(rngd/index-list)
    let _rows: DmTensor<i8, Chip, Cluster, m![Pick / 8], m![Pick % 8, Width]> = table.dma_gather_unscaled(&numbers);
}
