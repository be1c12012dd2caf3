// |x| of a 32 x 32 tile, one burst each way instead of 32 rows.
// dmaverify: gm %x = 32x32xf32
// dmaverify: gm %y = 32x32xf32
// dmaverify: expect proved
module attributes {pto.target_arch = "a5", pto.kernel_kind = #pto.kernel_kind<vector>} {
  func.func @absolute(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) attributes {pto.aicore} {
    %first = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 1024 : index
    %count = arith.constant 1024 : i32
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %whole = arith.constant 4096 : i64
    %in = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
    %out = pto.castptr %whole : i64 -> !pto.ptr<f32, ub>
    pto.mte_gm_ub %x, %in, %zero, %whole nburst(%one, %zero, %zero)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.vecscope {
      %done = scf.for %i = %first to %end step %step iter_args(%left = %count) -> (i32) {
        %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
        %v = pto.vlds %in[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %a = pto.vabs %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %a, %out[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
        scf.yield %rest : i32
      }
    }
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.mte_ub_gm %out, %y, %whole nburst(%one, %zero, %zero)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.barrier <PIPE_ALL>
    return
  }
}
