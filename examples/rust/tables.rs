//! Rows by index: a gather with byte offsets, one with row numbers in data memory, a scatter.

use furiosa_opt_std::prelude::*;

axes![Rows = 1000, Width = 64, Pick = 512];

type Chip = m![1];
type Cluster = m![1 # 2];

/// The index holds byte offsets: row number times 128, the bytes of 64 `bf16`.
#[device(chip = 1)]
pub fn gathered(
    ctx: &mut Context,
    table: &HbmTensor<bf16, Chip, m![Rows, Width]>,
    offsets: &HbmTensor<i32, Chip, m![Pick]>,
) -> HbmTensor<bf16, Chip, m![Pick, Width]> {
    let rows: DmTensor<bf16, Chip, Cluster, m![Pick / 2], m![Pick % 2, Width]> = table.dma_gather_scaled(offsets);
    rows.to_hbm(&mut ctx.tdma)
}

/// The index holds row numbers, staged in data memory: at most 1,024 of them.
#[device(chip = 1)]
pub fn gathered_by_number(
    ctx: &mut Context,
    table: &HbmTensor<bf16, Chip, m![Rows, Width]>,
    numbers: &HbmTensor<i32, Chip, m![Pick]>,
) -> HbmTensor<bf16, Chip, m![Pick, Width]> {
    let numbers: DmTensor<i32, Chip, Cluster, m![Pick / 2], m![Pick % 2]> = numbers.to_dm(&mut ctx.tdma);
    let rows: DmTensor<bf16, Chip, Cluster, m![Pick / 2], m![Pick % 2, Width]> = table.dma_gather_unscaled(&numbers);
    rows.to_hbm(&mut ctx.tdma)
}

/// Writes rows to the places that the index names.
#[device(chip = 1)]
pub fn scattered(
    ctx: &mut Context,
    rows: &HbmTensor<bf16, Chip, m![Pick, Width]>,
    offsets: &HbmTensor<i32, Chip, m![Pick]>,
    table: &mut HbmTensor<bf16, Chip, m![Rows, Width]>,
) {
    let staged: DmTensor<bf16, Chip, Cluster, m![Pick / 2], m![Pick % 2, Width]> = rows.to_dm(&mut ctx.tdma);
    staged.dma_scatter::<m![Pick], _, _>(offsets, table);
}
