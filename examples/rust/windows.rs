//! Views: a window of a tensor as source, as destination, in loops, nested, padded and regrouped.

use furiosa_opt_std::prelude::*;

axes![Batch = 32, Len = 96, Feat = 8];

type Chip = m![1];
type Cluster = m![1 # 2];
type Lanes = m![Batch # 256];
const HALF: usize = <m![Len]>::SIZE / 2;

/// Swaps the halves of every sequence within data memory. Starts count positions of the digit that is cut.
#[device(chip = 1)]
pub fn swap_halves(
    ctx: &mut Context,
    input: &HbmTensor<i8, Chip, m![Batch, Len, Feat]>,
) -> HbmTensor<i8, Chip, m![Batch, Len, Feat]> {
    let whole: DmTensor<i8, Chip, Cluster, Lanes, m![Len, Feat]> = input.to_dm(&mut ctx.tdma);
    let mut swapped = DmTensor::<i8, Chip, Cluster, Lanes, m![Len, Feat]>::new();

    let first = whole.view().tile::<m![Len], 48, m![Len = 48 # 96, Feat]>(0);
    first.to_dm_view(
        &mut ctx.tdma,
        swapped.view_mut().tile::<m![Len], 48, m![Len = 48 #{!} 96, Feat]>(HALF),
    );
    let second = whole.view().tile::<m![Len], 48, m![Len = 48 # 96, Feat]>(HALF);
    second.to_dm_view(
        &mut ctx.tdma,
        swapped.view_mut().tile::<m![Len], 48, m![Len = 48 #{!} 96, Feat]>(0),
    );

    swapped.to_hbm(&mut ctx.tdma)
}

/// Copies chunk by chunk: the loop variable is a chunk number, because the tile is by `Len / 16`.
#[device(chip = 1)]
pub fn by_chunks(
    ctx: &mut Context,
    input: &HbmTensor<i8, Chip, m![Batch, Len, Feat]>,
) -> HbmTensor<i8, Chip, m![Batch, Len, Feat]> {
    let mut out = HbmTensor::<i8, Chip, m![Batch, Len, Feat]>::new();
    for chunk in 0..<m![Len / 16]>::SIZE {
        let part = input
            .view()
            .tile::<m![Len / 16], 1, m![Batch, 1 # 6, Len % 16, Feat]>(chunk);
        let into = out
            .view_mut()
            .tile::<m![Len / 16], 1, m![Batch, 1 #{!} 6, Len % 16, Feat]>(chunk);
        part.to_hbm_view(&mut ctx.tdma, into);
    }
    out
}

/// A window of a window, then the same cells under other names.
#[device(chip = 1)]
pub fn regrouped(ctx: &mut Context, input: &HbmTensor<i8, Chip, m![Batch, Len, Feat]>) {
    axes![Inner = 768];
    let flat: HbmTensorView<'_, i8, Chip, m![Batch, Inner]> = unsafe { input.view().reshape() };
    let _rows: DmTensor<i8, Chip, Cluster, Lanes, m![Inner]> = flat.to_dm(&mut ctx.tdma);
}
