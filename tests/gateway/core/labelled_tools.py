"""What real tools do, looked at one by one by a person: their names, descriptions and schemas.

Reads: nothing is different afterwards, except for a log. Writes: something is, and can be changed
back or is only added. Destroys: something is lost, or runs that nobody can foresee. Where a
server's own claim is worse than what was seen, it stands, unless the tool plainly only adds.
"""

READS = {
    "brave-search": "brave_web_search brave_local_search",
    "calculator": "calculate",
    "fetch": "fetch",
    "git": "git_status git_diff_unstaged git_diff_staged git_diff git_log git_show git_branch",
    "github": """
        search_repositories get_file_contents list_commits list_issues search_code search_issues
        search_users get_issue get_pull_request list_pull_requests get_pull_request_files
        get_pull_request_status get_pull_request_comments get_pull_request_reviews
    """,
    "kubectl-py": """
        kubectl_get kubectl_logs kubectl_top detect_ecosystem helm_list helm_status helm_history
        helm_get kubectl_describe diagnose_pod_crash detect_pending_pods list_contexts health_check
        kubectl_explain get_api_resources
    """,
    "kubernetes": """
        kubectl_get kubectl_describe kubectl_logs explain_resource list_api_resources ping
    """,
    "mongodb": """
        collection-indexes collection-schema collection-storage-size count db-stats explain find
        list-collections list-connections list-databases mongodb-logs search-knowledge
        list-knowledge-sources
    """,
    "playwright": "browser_wait_for",
    "redis": """
        hget hgetall hexists get_vector_from_hash json_get lrange llen type scan_keys scan_all_keys
        search_redis_documents read_messages get_indexes get_index_info get_indexed_keys_number
        vector_search_hash hybrid_search dbsize info client_list smembers zrange xrange get
    """,
    "serena": """
        read_file list_dir find_file search_for_pattern get_symbols_overview find_symbol
        find_referencing_symbols read_memory list_memories get_current_config
        check_onboarding_performed onboarding prepare_for_new_conversation initial_instructions
    """,
    "slack": """
        slack_list_channels slack_get_channel_history slack_get_thread_replies slack_get_users
        slack_get_user_profile
    """,
    "time": "get_current_time convert_time",
}

WRITES = {
    "git": "git_commit git_add git_create_branch git_checkout",
    "github": """
        create_or_update_file create_repository push_files create_issue create_pull_request
        fork_repository create_branch update_issue add_issue_comment create_pull_request_review
        merge_pull_request update_pull_request_branch
    """,
    "kubectl-py": "install_helm_chart",
    "kubernetes": """
        kubectl_context kubectl_reconnect port_forward stop_port_forward kubectl_create
        install_helm_chart
    """,
    # A connection is opened to wherever is said; an export is a file.
    "mongodb": "export connect disconnect create-collection create-index insert-many",
    # Those that look at a page can also save what they see to a file.
    "playwright": """
        browser_close browser_file_upload browser_drop browser_fill_form browser_navigate
        browser_navigate_back browser_hover browser_select_option browser_tabs browser_resize
        browser_console_messages browser_emulate_media browser_find browser_network_requests
        browser_network_request browser_take_screenshot browser_snapshot
    """,
    # Reading as a member of a group moves the group on.
    "redis": """
        hset set_vector_in_hash json_set lpush rpush expire rename publish subscribe psubscribe
        unsubscribe create_vector_index_hash sadd zadd xadd xgroup_create xreadgroup xack set
    """,
    "serena": """
        insert_after_symbol insert_before_symbol rename_symbol rename_memory activate_project
        switch_modes
    """,
    "slack": "slack_post_message slack_reply_to_thread slack_add_reaction",
}

DESTROYS = {
    "git": "git_reset",
    # It claims to read only, and executes any command.
    "kubectl-py": """
        kubectl_scale upgrade_helm_chart uninstall_helm_chart helm_rollback kubectl_apply
        kubectl_generic kubectl_patch kubectl_rollout delete_resource exec_in_pod
    """,
    "kubernetes": """
        cleanup kubectl_apply kubectl_delete kubectl_scale kubectl_patch kubectl_rollout
        upgrade_helm_chart uninstall_helm_chart node_management exec_in_pod kubectl_generic
    """,
    # A pipeline may end in $out, which replaces a collection.
    "mongodb": """
        aggregate aggregate-db delete-many drop-collection drop-database drop-index
        rename-collection update-many
    """,
    # Whatever the page makes of it.
    "playwright": """
        browser_handle_dialog browser_evaluate browser_press_key browser_type
        browser_run_code_unsafe browser_click browser_drag
    """,
    "redis": "hdel json_del lpop rpop lrem delete srem zrem xdel xgroup_destroy",
    "serena": """
        create_text_file replace_content replace_symbol_body safe_delete_symbol write_memory
        delete_memory edit_memory execute_shell_command
    """,
}


def labels() -> dict[tuple[str, str], str]:
    return {
        (server, tool): label
        for label, listed in (("reads", READS), ("writes", WRITES), ("destroys", DESTROYS))
        for server, tools in listed.items()
        for tool in tools.split()
    }
