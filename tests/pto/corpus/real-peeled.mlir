// The next tile is loaded while this one is worked on; the last one stands behind the loop.
// dmaverify: expect proved
// broken: %q = arith.remui %nx, %c2 => %q = arith.remui %i, %c2 => core/flags
// dmaverify: gm %x = 33x1024xf32
// dmaverify: gm %y = 33x1024xf32
func.func @peeled(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  %c32768 = arith.constant 32768 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c4096_i64 = arith.constant 4096 : i64
  %c8192_i64 = arith.constant 8192 : i64
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  %o = pto.castptr %c8192_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  pto.mte_gm_ub %x, %u, %c0_i64, %c4096_i64 nburst(%c1_i64, %c4096_i64, %c4096_i64)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  scf.for %i = %c0 to %c32 step %c1 {
    %nx = arith.addi %i, %c1 : index
    %p = arith.remui %i, %c2 : index
    %q = arith.remui %nx, %c2 : index
    %so = arith.muli %q, %c1024 : index
    %go = arith.muli %nx, %c1024 : index
    %bn = pto.addptr %u, %so : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    %s = pto.addptr %x, %go : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE2", %q]
    pto.mte_gm_ub %s, %bn, %c0_i64, %c4096_i64 nburst(%c1_i64, %c4096_i64, %c4096_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_V", %q]
    %sp = arith.muli %p, %c1024 : index
    %b = pto.addptr %u, %sp : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    %ob = pto.addptr %o, %sp : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_V", %p]
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_V", %p]
    pto.vecscope {
      %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      scf.for %j = %c0 to %c1024 step %c64 {
        %v = pto.vlds %b[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %w = pto.vexp %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %w, %ob[%j], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      }
    }
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE2", %p]
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE3", %p]
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE3", %p]
    %gi = arith.muli %i, %c1024 : index
    %d = pto.addptr %y, %gi : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.mte_ub_gm %ob, %d, %c4096_i64 nburst(%c1_i64, %c4096_i64, %c4096_i64)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE3", "PIPE_V", %p]
  }
  // the last one is number 32: even
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    scf.for %j = %c0 to %c1024 step %c64 {
      %v = pto.vlds %u[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %w = pto.vexp %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %w, %o[%j], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  %dl = pto.addptr %y, %c32768 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  pto.mte_ub_gm %o, %dl, %c4096_i64 nburst(%c1_i64, %c4096_i64, %c4096_i64)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  return
}
