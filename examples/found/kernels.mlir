// Reductions, of our own writing, of what was found in published PTO kernels (docs/found.md); each expects what is said of it.

// The vector loop computes 1,152 bytes, the store takes 32 rows of 128.
// dmaverify: gm %out = 4096 bytes
// dmaverify: expect core/definite
func.func @more_than_computed(%out: !pto.ptr<si8, gm>) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %c0_i64 = arith.constant 0 : i64
  %c32_i64 = arith.constant 32 : i64
  %c128_i64 = arith.constant 128 : i64
  %seven = arith.constant 7 : i8
  %tile = pto.castptr %c0_i64 : i64 -> !pto.ptr<si8, ub>
  pto.vecscope {
    %all = pto.pset_b8 "PAT_ALL" : !pto.mask<b8>
    scf.for %i = %c0 to %c1024 step %c128 {
      %row = pto.vdup %seven, %all : i8, !pto.mask<b8> -> !pto.vreg<256xsi8>
      pto.vsts %row, %tile[%i], %all : !pto.vreg<256xsi8>, !pto.ptr<si8, ub>, !pto.mask<b8>
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %tile, %out, %c128_i64 nburst(%c32_i64, %c128_i64, %c128_i64)
      : !pto.ptr<si8, ub>, !pto.ptr<si8, gm>, i64, i64, i64, i64
  return
}

// The mask leaves out the last 24 elements of a row, the store takes them with it.
// dmaverify: gm %in = 256 bytes
// dmaverify: gm %out = 256 bytes
// dmaverify: expect core/definite
func.func @masked_tail(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : i32
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c256_i64 = arith.constant 256 : i64
  %a = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %c256_i64 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %a, %c0_i64, %c256_i64 nburst(%c1_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %some, %left = pto.plt_b32 %c40 : i32 -> !pto.mask<b32>, i32
    %row = pto.vlds %a[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %made = pto.vabs %row, %some : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
    pto.vsts %made, %b[%c0], %some : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %b, %out, %c256_i64 nburst(%c1_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}

// Two tiles of 16 KiB begin 256 bytes apart: the second load overwrites the first in whatever order.
// dmaverify: gm %x = 16384 bytes
// dmaverify: gm %y = 16384 bytes
// dmaverify: expect core/hazard-waw
func.func @tiles_a_row_apart(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c64_i64 = arith.constant 64 : i64
  %c256_i64 = arith.constant 256 : i64
  %a = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %c256_i64 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %x, %a, %c0_i64, %c256_i64 nburst(%c64_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.mte_gm_ub %y, %b, %c0_i64, %c256_i64 nburst(%c64_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  return
}

// A tile with 32 columns is given 33 valid ones at run time.
// dmaverify: gm %in = 32x64xf32
// dmaverify: assume %n in 1..33
// dmaverify: expect core/in-bounds
func.func @a_column_too_many(%in: !pto.ptr<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %view = pto.make_tensor_view %in, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %part = pto.partition_view %view, offsets = [%c0, %c0], sizes = [%c32, %n] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>
  %tile = pto.alloc_tile valid_col = %n : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=32, v_col=?>
  pto.tload ins(%part : !pto.partition_tensor_view<?x?xf32>)
      outs(%tile : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=32, v_col=?>)
  return
}

// A tile is stored that nothing was ever loaded or computed into.
// dmaverify: gm %out = 32x32xf32
// dmaverify: expect core/definite
func.func @an_empty_tile(%out: !pto.ptr<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %view = pto.make_tensor_view %out, shape = [%c32, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
  %part = pto.partition_view %view, offsets = [%c0, %c0], sizes = [%c32, %c32] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>
  %tile = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=32, v_col=32>
  pto.tstore ins(%tile : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=32, v_col=32>)
      outs(%part : !pto.partition_tensor_view<?x?xf32>)
  return
}
