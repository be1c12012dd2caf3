// 1,008 numbers from bf16 to f32; each register takes 64 of them, the last one 48.
// dmaverify: gm %in = 1008xbf16
// dmaverify: gm %out = 1008xf32
// dmaverify: expect proved
func.func @widen(%in: !pto.ptr<bf16, gm>, %out: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 1008 : index
  %left0 = arith.constant 1008 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %half = arith.constant 2016 : i64
  %full = arith.constant 4032 : i64
  %a = pto.castptr %full : i64 -> !pto.ptr<bf16, ub>
  %b = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %a, %z, %half nburst(%one, %half, %half)
    : !pto.ptr<bf16, gm>, !pto.ptr<bf16, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
  pto.vecscope {
    %all = pto.pge_b16 "PAT_ALL" : !pto.mask<b16>
    %last = scf.for %j = %c0 to %n step %c64 iter_args(%left = %left0) -> (i32) {
      %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
      %h = pto.vlds %a[%j] {dist = "UNPK_B16"} : !pto.ptr<bf16, ub> -> !pto.vreg<128xbf16>
      %f = pto.vcvt %h, %all {part = "EVEN"} : !pto.vreg<128xbf16>, !pto.mask<b16> -> !pto.vreg<64xf32>
      pto.vsts %f, %b[%j], %m {dist = "NORM_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      scf.yield %rest : i32
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
  pto.mte_ub_gm %b, %out, %full nburst(%one, %full, %full)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
