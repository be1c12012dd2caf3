//! What was found in published kernels, reduced: one function a class, each expects what dmaverify says of it.
//!
//! The text is our own; sizes are those that made the difference. The list with places and consequences is in
//! `docs/found.md`.

use furiosa_opt_std::prelude::*;

axes![Q = 896, Hidden = 896, Rows = 256, Word = 1120, Layer = 768, Lane = 512, Key = 1024, Head = 64, Norm = 1792, Pick = 306];

type Chip = m![1];
type Cluster = m![1 # 2];

/// Slice capacity: 544,768 of 524,288 bytes; a search over layouts only says that it failed.
#[device(chip = 1)]
pub fn slice_capacity(ctx: &mut Context, weight: &HbmTensor<bf16, Chip, m![Rows, Norm, Layer = 152]>) {
    // dmaverify: expect(rngd/slice-capacity)
    let _all: DmTensor<bf16, Chip, Cluster, m![Rows], m![Norm, Layer = 152]> = weight.to_dm(&mut ctx.tdma);
}

/// An axis that the load drops: only column 0 of each row arrives, two bytes a row.
#[device(chip = 1)]
pub fn dropped_axis(ctx: &mut Context, q: &HbmTensor<bf16, Chip, m![Q, Hidden]>) {
    // dmaverify: expect(core/consumes, rngd/dm-packet-multiple, rngd/dm-write-align, rngd/hbm-dm-align, rngd/std-stride, rngd/std-tail)
    let _q: DmTensor<bf16, Chip, Cluster, m![1 # 16, Q / 128 # 8, Q / 64 % 2], m![Q % 64]> = q.to_dm(&mut ctx.tdma);
}

/// Starts counted in chunks where coordinates are meant: three windows of 256 start at 2, 1 and 0.
#[device(chip = 1)]
pub fn chunks(ctx: &mut Context, from: &HbmTensor<bf16, Chip, m![Layer, Lane]>) -> HbmTensor<bf16, Chip, m![Layer, Lane]> {
    let mut into = HbmTensor::<bf16, Chip, m![Layer, Lane]>::new();
    let part = from.view().tile::<m![Layer], 256, m![Layer = 256 # 768, Lane]>(0);
    part.to_hbm_view(&mut ctx.tdma, into.view_mut().tile::<m![Layer], 256, m![Layer = 256 #{!} 768, Lane]>(2));
    let part = from.view().tile::<m![Layer], 256, m![Layer = 256 # 768, Lane]>(1);
    part.to_hbm_view(&mut ctx.tdma, into.view_mut().tile::<m![Layer], 256, m![Layer = 256 #{!} 768, Lane]>(1));
    let part = from.view().tile::<m![Layer], 256, m![Layer = 256 # 768, Lane]>(2);
    // dmaverify: expect(core/tiles-cover, core/tiles-once)
    part.to_hbm_view(&mut ctx.tdma, into.view_mut().tile::<m![Layer], 256, m![Layer = 256 #{!} 768, Lane]>(0));
    into
}

/// Half of the weights of a norm are never loaded: the destination holds 896 of 1,792.
#[device(chip = 1)]
pub fn half_of_a_norm(ctx: &mut Context, weight: &HbmTensor<bf16, Chip, m![Norm]>) {
    // dmaverify: expect(core/consumes)
    let _weight: DmTensor<bf16, Chip, Cluster, m![1 # 256], m![Norm = 896]> = weight.to_dm(&mut ctx.tdma);
}

/// An element is asked for that the tensor lacks: 64 of 512 lanes were kept.
#[device(chip = 1)]
pub fn absent_element(ctx: &mut Context, part: &HbmTensor<i8, Chip, m![Rows, Lane = 64]>) {
    // dmaverify: expect(core/same-element)
    let _whole: DmTensor<i8, Chip, Cluster, m![Rows], m![Lane]> = part.to_dm(&mut ctx.tdma);
}

/// One name where another was meant: the store says `Head` where the tensor holds `Key / 16`.
#[device(chip = 1)]
pub fn other_name(ctx: &mut Context, part: &DmTensor<bf16, Chip, Cluster, m![Rows], m![Key / 16]>) -> HbmTensor<bf16, Chip, m![Rows, Head]> {
    // dmaverify: expect(core/consumes, rngd/store-broadcast)
    part.to_hbm(&mut ctx.tdma)
}

/// The low digit of a rotary table is dropped: every other value of a pair goes nowhere.
#[device(chip = 1)]
pub fn rotary_digit(ctx: &mut Context, table: &HbmTensor<bf16, Chip, m![Rows, Head / 2, Head % 2]>) {
    // dmaverify: expect(core/consumes, rngd/dm-packet-multiple, rngd/dm-write-align, rngd/hbm-dm-align, rngd/std-stride, rngd/std-tail)
    let _table: DmTensor<bf16, Chip, Cluster, m![Rows], m![Head / 2]> = table.to_dm(&mut ctx.tdma);
}

/// One mebibyte a slice.
#[device(chip = 1)]
pub fn mebibyte(ctx: &mut Context, keys: &HbmTensor<bf16, Chip, m![Key, Lane]>) {
    // dmaverify: expect(rngd/slice-capacity)
    let _keys: DmTensor<bf16, Chip, Cluster, m![1 # 256], m![Key, Lane]> = keys.to_dm(&mut ctx.tdma);
}

/// Rows of four bytes: data memory is written in words of eight.
#[device(chip = 1)]
pub fn eight_bytes(ctx: &mut Context, scale: &HbmTensor<f32, Chip, m![Rows]>) {
    // dmaverify: expect(rngd/dm-packet-multiple, rngd/hbm-dm-align, rngd/std-stride, rngd/std-tail)
    let _scale: DmTensor<f32, Chip, Cluster, m![Rows], m![1]> = scale.to_dm(&mut ctx.tdma);
}

/// 306 slices of 256.
#[device(chip = 1)]
pub fn too_many_slices(ctx: &mut Context, rows: &HbmTensor<bf16, Chip, m![Pick, Head]>) {
    // dmaverify: expect(rngd/place-max, rngd/spatial-sizes)
    let _rows: DmTensor<bf16, Chip, Cluster, m![Pick], m![Head]> = rows.to_dm(&mut ctx.tdma);
}

/// The store writes one of the copies that the result promises.
#[device(chip = 1)]
pub fn one_of_the_copies(ctx: &mut Context, rows: &DmTensor<bf16, Chip, Cluster, m![Rows], m![Head]>) -> HbmTensor<bf16, Chip, m![8, Rows, Head]> {
    // dmaverify: expect(rngd/store-broadcast)
    rows.to_hbm(&mut ctx.tdma)
}

/// A result that nobody writes.
#[device(chip = 1)]
pub fn never_written(ctx: &mut Context) -> HbmTensor<bf16, Chip, m![Rows, Head]> {
    let rows: DmTensor<bf16, Chip, Cluster, m![Rows], m![Head]> = DmTensor::new();
    // dmaverify: expect(core/definite)
    rows.to_hbm(&mut ctx.tdma)
}
