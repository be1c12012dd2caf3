// One row of 64 numbers for each block of the grid, scaled; buffers are memrefs at byte addresses.
// dmaverify: expect proved
// dmaverify: gm %arg0 = 32x8x64xf32
// dmaverify: assume %0 in 0..31
// broken: nburst(%c8_i64, %c256_i64, %c512_i64) => nburst(%c8_i64, %c256_i64, %c128_i64) => pto/row-overlap
module attributes {pto.target_arch = "a5"} {
  module @vector_part attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
    func.func @scale_rows(%arg0: memref<?xf32, #pto.address_space<gm>>, %arg1: memref<?xf32, #pto.address_space<gm>>) attributes {pto.aicore} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c512 = arith.constant 512 : index
      %c0_i64 = arith.constant 0 : i64
      %c8_i64 = arith.constant 8 : i64
      %c128_i64 = arith.constant 128 : i64
      %c256_i64 = arith.constant 256 : i64
      %c512_i64 = arith.constant 512 : i64
      %c16384_i64 = arith.constant 16384 : i64
      %cst = arith.constant 1.250000e-01 : f32
      %0 = pto.get_block_idx : i64
      %1 = arith.index_cast %0 : i64 to index
      %2 = arith.muli %1, %c512 overflow<nsw> : index
      %3 = pto.castptr %arg0 : memref<?xf32, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
      %4 = pto.addptr %3, %2 : <f32, gm> -> <f32, gm>
      %5 = pto.pointer_cast(%c0_i64) %c8, %c64 {config = #pto.tile_buf_config<blayout=#pto.blayout<row_major>, slayout=#pto.slayout<none_box>, s_fractal_size=512, pad=#pto.pad_value<null>>} : memref<8x128xf32, strided<[128, 1]>, #pto.address_space<vec>>
      %6 = pto.castptr %5 : memref<8x128xf32, strided<[128, 1]>, #pto.address_space<vec>> -> !pto.ptr<f32, ub>
      %7 = pto.pointer_cast(%c16384_i64) %c8, %c64 : memref<8x128xf32, strided<[128, 1]>, #pto.address_space<vec>>
      %8 = pto.castptr %7 : memref<8x128xf32, strided<[128, 1]>, #pto.address_space<vec>> -> !pto.ptr<f32, ub>
      pto.mte_gm_ub %4, %6, %c0_i64, %c256_i64 nburst(%c8_i64, %c256_i64, %c512_i64) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>} : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
      pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
      pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
      pto.vecscope {
        %mask = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
        scf.for %arg2 = %c0 to %c8 step %c1 {
          %11 = arith.muli %arg2, %c128 : index
          %12 = pto.vlds %6[%11] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
          %13 = pto.vmuls %12, %cst, %mask : !pto.vreg<64xf32>, f32, !pto.mask<b32> -> !pto.vreg<64xf32>
          pto.vsts %13, %8[%11], %mask : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
        } {llvm.loop.parallel, pto.unrolled = 1 : i64}
      } {pto.fused = "scale"}
      pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
      pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
      %9 = pto.castptr %arg1 : memref<?xf32, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
      %10 = pto.addptr %9, %2 : <f32, gm> -> <f32, gm>
      pto.mte_ub_gm %8, %10, %c256_i64 nburst(%c8_i64, %c512_i64, %c256_i64) {pto.tag = "tstore"} : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
      pto.barrier <PIPE_ALL> {pto.last}
      return
    }
  }
}
