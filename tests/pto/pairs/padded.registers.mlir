// Eight blocks of 8 rows of 56 floats, padded to 64 columns with zeros, doubled in place, the valid columns stored.
// dmaverify: gm %x = 8x8x56xf32
// dmaverify: gm %y = 8x8x56xf32
// dmaverify: expect proved
func.func @padded(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c4 = arith.constant 4 : i64
  %c8 = arith.constant 8 : i64
  %c224 = arith.constant 224 : i64
  %c256 = arith.constant 256 : i64
  %c1792 = arith.constant 1792 : i64
  %c2048 = arith.constant 2048 : i64
  %c3584 = arith.constant 3584 : i64
  %c4096 = arith.constant 4096 : i64
  %on = arith.constant true
  %zero = arith.constant 0.0 : f32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i64 = arith.constant 64 : index
  %tile = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.set_mov_pad_val %zero : f32
  pto.set_loop1_stride_outtoub %c1792, %c2048 : i64, i64
  pto.set_loop2_stride_outtoub %c3584, %c4096 : i64, i64
  pto.set_loop_size_outtoub %c2, %c4 : i64, i64
  pto.copy_gm_to_ubuf %x, %tile, %c0, %c8, %c224, %c0, %c8, %on, %c0, %c224, %c256
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.set_loop_size_outtoub %c1, %c1 : i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
  pto.vecscope {
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    scf.for %r = %i0 to %i64 step %i1 {
      %at = arith.muli %r, %i64 : index
      %v = pto.vlds %tile[%at] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %w = pto.vadd %v, %v, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %w, %tile[%at], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
  pto.set_loop1_stride_ubtoout %c2048, %c1792 : i64, i64
  pto.set_loop2_stride_ubtoout %c4096, %c3584 : i64, i64
  pto.set_loop_size_ubtoout %c2, %c4 : i64, i64
  pto.copy_ubuf_to_gm %tile, %y, %c0, %c8, %c224, %c0, %c224, %c256
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  pto.set_loop_size_ubtoout %c1, %c1 : i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  return
}
