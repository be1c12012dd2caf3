// Real and imaginary parts, loaded apart, become pairs; then the pairs are taken apart again and their sum is stored.
// dmaverify: gm %re = 256xf32
// dmaverify: gm %im = 256xf32
// dmaverify: gm %pairs = 512xf32
// dmaverify: gm %sums = 256xf32
// dmaverify: expect proved
func.func @interleave(%re: !pto.ptr<f32, gm>, %im: !pto.ptr<f32, gm>, %pairs: !pto.ptr<f32, gm>, %sums: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k = arith.constant 1024 : i64
  %k2 = arith.constant 2048 : i64
  %k4 = arith.constant 4096 : i64
  %r = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %i = pto.castptr %k : i64 -> !pto.ptr<f32, ub>
  %p = pto.castptr %k2 : i64 -> !pto.ptr<f32, ub>
  %s = pto.castptr %k4 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %re, %r, %z, %k nburst(%one, %k, %k)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.mte_gm_ub %im, %i, %z, %k nburst(%one, %k, %k)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    scf.for %j = %c0 to %c256 step %c64 {
      %a = pto.vlds %r[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %b = pto.vlds %i[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %two = arith.muli %j, %c2 : index
      pto.vstsx2 %a, %b, %p[%two], "INTLV_B32", %all
        : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
    pto.mem_bar "VST_VLD"
    scf.for %j = %c0 to %c256 step %c64 {
      %two = arith.muli %j, %c2 : index
      %lo, %hi = pto.vldsx2 %p[%two], "DINTLV_B32" : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>, !pto.vreg<64xf32>
      %sum = pto.vadd %lo, %hi, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %sum, %s[%j], %all : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %p, %pairs, %k2 nburst(%one, %k2, %k2) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  pto.mte_ub_gm %s, %sums, %k nburst(%one, %k, %k) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
